import { connectDevice } from '@odograph/simulator/device-connection';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { startTcpProxy, type TcpProxy } from '../faults/parts/tcp-proxy.fixture.ts';
import { closePages, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
import { startBufferingProxy } from './buffering-proxy.fixture.ts';
import {
  createAccount,
  createTestFleet,
  endSessions,
  openAs,
  password,
  reading,
  type TestFleet,
} from './fleet.fixture.ts';

let platform: TestPlatform;
let proxy: TcpProxy;
/** Where the proxy leads. */
let current: TestPlatform;
let browser: Browser;
let fleet: TestFleet;

/** Opens the map on a page whose clock the test can put forward. */
async function openMap(origin: string): Promise<WatchedPage> {
  const watched = await watchPage(browser, origin);
  await watched.page.clock.install();
  await openAs(platform, watched, '/map', await createAccount(platform, fleet));
  return watched;
}

/** Puts the clock of the page forward, as far as it takes, with real time in between for answers. */
async function putForward(page: Page, stepMs: number, sign: Locator): Promise<void> {
  const step = async () => {
    await page.clock.fastForward(stepMs);
    return sign.count();
  };
  await expect.poll(step, { timeout: 60_000, interval: 2500 }).toBe(1);
}

describe.skipIf(!hasBrowser)('the live connection of the console', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    current = platform;
    proxy = await startTcpProxy(() => Number(new URL(current.httpUrl).port));
    fleet = await createTestFleet(platform);
  });
  afterAll(async () => {
    await closePages(browser);
    proxy?.close();
    await fleet?.stop();
    await platform?.stop();
  });

  it('reads every 10 s, and says what to set, behind a proxy that buffers answers', async () => {
    const buffering = await startBufferingProxy(platform.httpUrl);
    try {
      const { page, errors } = await openMap(buffering.url);
      await page.getByText('Connecting…').waitFor();
      await putForward(page, 20_000, page.getByText('Read every 10 s'));
      await page.getByText('A proxy holds back the live stream.').waitFor();
      await fleet.moving.device.upload([reading({ speed: 61, driven: 30 })]);
      const changed = page.getByRole('button', { name: /MV-100-AA Moving.*61 km\/h/ });
      await putForward(page, 10_000, changed);
      expect(await changed.isVisible()).toBe(true);
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      buffering.close();
    }
  });

  it('is live again after an hour of sleep, and shows what changed meanwhile', async () => {
    const { page } = await openMap(`http://127.0.0.1:${proxy.port}`);
    await page.getByText('Live', { exact: true }).waitFor();
    // The network forgets the connection without telling the browser.
    proxy.silence();
    await fleet.moving.device.upload([reading({ speed: 83, driven: 35 })]);
    proxy.mend();
    const missed = page.getByRole('button', { name: /MV-100-AA Moving.*83 km\/h/ });
    expect(await missed.count()).toBe(0);
    await page.clock.fastForward('01:00:00');
    // Requests on other connections that died meanwhile are given up after 15 s each.
    await putForward(page, 16_000, missed);
    expect(await missed.isVisible()).toBe(true);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().close();
  });

  it('keeps the page when a screen cannot be loaded, and loads it on a further attempt', async () => {
    const watched = await watchPage(browser, platform.httpUrl);
    const { page } = watched;
    await openAs(platform, watched, '/profile', await createAccount(platform, fleet));
    await page.getByLabel('New password').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Alarms' }).click();
    await page.getByText('This could not be loaded').waitFor();
    const refused = page.waitForEvent('requestfailed', (request) => new URL(request.url()).pathname === '/');
    await page.getByRole('button', { name: 'Try again' }).click();
    await refused;
    await page.getByText('This could not be loaded').waitFor();
    expect(await page.getByRole('navigation', { name: 'Screens' }).isVisible()).toBe(true);
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Alarms' }).waitFor();
    await page.context().close();
  });

  it('asks for the password over a form that is half filled, and keeps what was typed', async () => {
    const watched = await watchPage(browser, platform.httpUrl);
    const { page } = watched;
    const name = await createAccount(platform, fleet);
    await openAs(platform, watched, '/profile', name);
    await page.locator('input[name=current]').fill(password);
    await page.getByLabel('New password').fill('a password to be kept');
    await endSessions(platform, name);
    await page.getByRole('button', { name: 'Change password' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.getByLabel('New password').inputValue()).toBe('a password to be kept');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The password is changed.').waitFor();
    await page.context().close();
  });

  it('is live again after a restart of the platform, and shows what it missed', async () => {
    const watched = await watchPage(browser, `http://127.0.0.1:${proxy.port}`);
    const { page } = watched;
    await openAs(platform, watched, '/map', await createAccount(platform, fleet));
    await page.getByText('Live', { exact: true }).waitFor();
    await fleet.stop();
    await platform.stop();
    await page.getByText(/No connection since/).waitFor();
    const { QUEUE_PREFIX } = platform.config;
    current = await startTestPlatform(await loadServices(), { QUEUE_PREFIX });
    try {
      const device = await connectDevice(current.mqttUrl, fleet.moving);
      await device.upload([reading({ speed: 97, driven: 40 })]);
      const missed = page.getByRole('button', { name: /MV-100-AA Moving.*97 km\/h/ });
      // Back-off and read interval are up to 10 s each.
      await missed.waitFor({ timeout: 60_000 });
      await page.getByText('Live', { exact: true }).waitFor();
      expect(await missed.isVisible()).toBe(true);
      await device.close();
      await page.context().close();
    } finally {
      await current.stop();
    }
  });
});
