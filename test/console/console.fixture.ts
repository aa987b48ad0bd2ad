import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Http } from '@odograph/http/http';
import type { Service } from '@odograph/runtime/service';
import { type ApiClient, createApiClient } from '@odograph/testkit/api-client';
import { createApplication, createUnlinkedVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import type { Browser, Page } from 'playwright-core';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, findBarriers, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
import { createAccount, openAs } from './fleet.fixture.ts';

/** A running platform with an application, and a browser to look at it with. */
export interface ConsoleSetup {
  readonly platform: TestPlatform;
  readonly browser: Browser;
  readonly application: TestApplication;
  /** A client with the admin token. */
  readonly admin: ApiClient;
  /** A directory for files; removed at the end. */
  readonly directory: string;
  /** Creates an operator of the application. @returns the name */
  accountOf(role: 'viewer' | 'operator' | 'administrator'): Promise<string>;
  /** Opens an address in the session of an operator. */
  open(path: string, account: string): Promise<WatchedPage>;
  /** Creates a vehicle without a device. @returns its id */
  createNamedVehicle(plate: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts the platform and the browser.
 * @param settings of the platform, by environment variable
 * @param own services that replace those of the same name
 */
export async function startConsole(
  settings: Record<string, string> = {},
  own: readonly Service<Http>[] = [],
): Promise<ConsoleSetup> {
  const services = (await loadServices()).map((service) => own.find(({ name }) => name === service.name) ?? service);
  // Not in parallel: if the browser failed to start, the platform would keep running.
  const browser = await startBrowser();
  const platform = await startTestPlatform(services, settings);
  const directory = await mkdtemp(join(tmpdir(), 'odograph-console-'));
  const application = await createApplication(platform.db);
  return {
    ...{ platform, browser, application, directory },
    admin: createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` }),
    accountOf: (role) => createAccount(platform, { application }, role),
    async open(path, account) {
      const watched = await watchPage(browser, platform.httpUrl);
      await openAs(platform, watched, path, account);
      return watched;
    },
    async createNamedVehicle(plate) {
      const id = await createUnlinkedVehicle(platform.db, application);
      await platform.db.updateTable('vehicle').set({ plate }).where('id', '=', Number(id)).execute();
      return id;
    },
    async stop() {
      await closePages(browser);
      await platform.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A name that no other test has. */
export const uniqueName = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;

/** Lists the axe violations on the current page, in light and dark. */
export async function findAllBarriers(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await findBarriers(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  // The rest does not depend on colours.
  return [...light, ...(await findBarriers(page, ['color-contrast']))];
}
