import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createApiClient } from '@odograph/testkit/api-client';
import {
  createApplication,
  createDevice,
  createUnlinkedVehicle,
  createUser,
  createVehicle,
  type TestApplication,
} from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { loadServices } from '../../services/platform/services.ts';
import { findBarriers, hasBrowser, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
import { createAccount, password, reading } from './fleet.fixture.ts';

let platform: TestPlatform;
let browser: Browser;
let application: TestApplication;
let directory: string;

/** Signs in as an operator does, and opens an address. */
async function open(path: string, account: string): Promise<WatchedPage> {
  const watched = await watchPage(browser, platform.httpUrl);
  const { page } = watched;
  await page.goto(path);
  await page.getByLabel('Name').fill(account);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname + url.search === path);
  return watched;
}

const accountOf = (role: 'viewer' | 'operator' | 'administrator') => createAccount(platform, { application }, role);
const admin = () => createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });

/** Creates a vehicle without a device. */
async function createNamedVehicle(plate: string): Promise<string> {
  const id = await createUnlinkedVehicle(platform.db, application);
  await platform.db.updateTable('vehicle').set({ plate }).where('id', '=', Number(id)).execute();
  return id;
}

/** Lists what axe finds serious on a page as it is, in light and dark. */
async function findAllBarriers(page: Page): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await findBarriers(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  // The rest does not depend on colours.
  return [...light, ...(await findBarriers(page, ['color-contrast']))];
}

beforeAll(async () => {
  if (!hasBrowser) return;
  [platform, browser, directory] = await Promise.all([
    startTestPlatform(await loadServices()),
    startBrowser(),
    mkdtemp(join(tmpdir(), 'odograph-console-')),
  ]);
  application = await createApplication(platform.db);
});
afterAll(async () => {
  await browser?.close();
  await platform?.stop();
  if (directory) await rm(directory, { recursive: true, force: true });
});

describe.skipIf(!hasBrowser)('the screen Devices', () => {
  it('provisions a device in one form; what it shows once lets the device connect', async () => {
    const plate = `DV-${randomUUID().slice(0, 6)}`;
    const vehicleId = await createNamedVehicle(plate);
    const { page, errors } = await open('/devices', await accountOf('operator'));
    await page.getByRole('link', { name: 'Devices' }).waitFor();
    await page.getByRole('link', { name: 'Add a device' }).click();
    const deviceId = `unit-${randomUUID().slice(0, 8)}`;
    await page.getByRole('textbox', { name: 'Device' }).fill(deviceId);
    await page.getByLabel('Model').selectOption('generic');
    await page.getByLabel('Vehicle').fill(plate.toLowerCase().replace('-', ' '));
    await page.getByRole('button', { name: 'Create device' }).click();
    await page.getByRole('heading', { name: `${deviceId} is created` }).waitFor();
    await page.getByRole('img', { name: 'QR code of the settings' }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const shown = page.getByRole('region', { name: 'Settings of the device' });
    const fields = await shown.locator('dd code').allInnerTexts();
    const [host, port, , , username, secret = ''] = fields;
    expect([username, fields[6]]).toEqual([deviceId, `v1/devices/${deviceId}/telemetry`]);
    const device = await connectDevice(`mqtt://${host}:${port}`, { deviceId, secret });
    await device.upload([reading({ ago: 5 })]);
    await page.getByRole('link', { name: 'Open device' }).click();
    await page.getByRole('heading', { name: deviceId }).waitFor();
    expect(await page.getByText(secret).count()).toBe(0);
    await page.getByRole('cell', { name: plate }).waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    await device.close();
    await page.getByText(/Disconnected since \d\d:\d\d/).waitFor();
    const link = platform.db.selectFrom('device_link').select('vehicle_id').where('device_id', '=', deviceId);
    expect(await link.execute()).toEqual([{ vehicle_id: Number(vehicleId) }]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('names every fault of a CSV file before anything is written, and downloads the credentials of a good one', async () => {
    const { page, errors } = await open('/devices?add=file', await accountOf('operator'));
    const [first, second] = [`a-${randomUUID().slice(0, 8)}`, `b-${randomUUID().slice(0, 8)}`];
    const file = async (name: string, ...lines: string[]) => {
      const path = join(directory, name);
      await writeFile(path, ['id,model,appId', ...lines].join('\n'));
      return path;
    };
    const { appId } = application;
    const bad = await file(
      'bad.csv',
      `${first},generic,${appId}`,
      `${second},no model,${appId}`,
      `no id?,generic,${appId}`,
    );
    await page.getByLabel('CSV file').setInputFiles(bad);
    await page.getByText('2 of 3 lines have a fault.').waitFor();
    await page.getByRole('row', { name: /3 model must be a device model/ }).waitFor();
    await page.getByRole('row', { name: /^4 id / }).waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const good = await file('good.csv', `${first},generic,${appId}`, `${second},obd,${appId}`);
    await page.getByLabel('CSV file').setInputFiles(good);
    await page.getByText('good.csv: 2 devices without a fault. Nothing is written yet.').waitFor();
    const stored = () => platform.db.selectFrom('device').select('id').where('id', 'in', [first, second]).execute();
    expect(await stored()).toEqual([]);
    await page.getByRole('button', { name: 'Create 2 devices' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the credentials' }).click(),
    ]);
    const [, line = ''] = (await readFile((await download.path()) ?? '', 'utf8')).split('\r\n');
    const [url = '', clientId, , secret = ''] = line.split(',');
    expect([clientId, (await stored()).length]).toEqual([first, 2]);
    const device = await connectDevice(url, { deviceId: first, secret });
    await device.close();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('searches and filters by the platform, and rotates a secret', async () => {
    const [one, other] = [await createVehicle(platform.db, application), await createVehicle(platform.db, application)];
    const device = await connectDevice(platform.mqttUrl, one);
    const { page } = await open('/devices', await accountOf('operator'));
    await page.getByRole('cell', { name: other.deviceId }).waitFor();
    await page.getByText('Connected', { exact: true }).first().click();
    await page.waitForURL(/show=connected/);
    await page.getByRole('cell', { name: other.deviceId }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: one.deviceId }).click();
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByLabel('The former secret stays valid').selectOption({ label: 'not at all: the session ends now' });
    await page.getByRole('button', { name: 'Create the secret' }).click();
    const shown = page.getByRole('region', { name: 'Settings of the device' });
    await shown.waitFor();
    expect(await findAllBarriers(page)).toEqual([]);
    const secret = (await shown.locator('dd code').allInnerTexts())[5] ?? '';
    await page.getByText(/Disconnected since/).waitFor();
    await device.close('cut');
    const again = await connectDevice(platform.mqttUrl, { deviceId: one.deviceId, secret });
    await again.close();
    await page.context().close();
  });

  it('links, moves and unlinks in time, and overwrites no change of another person', async () => {
    const plates = ['LA', 'LB', 'LC'].map((letters) => `${letters}-${randomUUID().slice(0, 6)}`);
    const [first = '', second = '', third = ''] = await Promise.all(plates.map(createNamedVehicle));
    const { deviceId } = await createDevice(platform.db, { applicationId: application.id });
    const { page } = await open(`/devices/${deviceId}`, await accountOf('operator'));
    await page.getByLabel('Link to a vehicle').fill(plates[0] ?? '');
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByRole('row', { name: new RegExp(`${plates[0]}.*now`) }).waitFor();
    // Another person moves it, unseen by this page until then.
    await page.getByLabel('Move to another vehicle').fill(plates[1] ?? '');
    const link = `/v1/x/admin/devices/${deviceId}/link`;
    expect((await admin().put(link, { vehicleId: third, fromVehicleId: first })).status).toBe(200);
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByText('Another person has changed the link meanwhile.').waitFor();
    await page.getByRole('row', { name: new RegExp(`${plates[2]}.*now`) }).waitFor();
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('row', { name: new RegExp(`${plates[1]}.*now`) }).waitFor();
    await page.getByRole('button', { name: 'Unlink' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
    await page.getByLabel('Link to a vehicle').waitFor();
    const links = platform.db.selectFrom('device_link').select('vehicle_id').where('device_id', '=', deviceId);
    const linked = (await links.execute()).map(({ vehicle_id }) => String(vehicle_id)).sort();
    expect(linked).toEqual([first, second, third].sort());
    await page.context().close();
  });

  it('shows a user of an application the devices of its vehicles, and no change', async () => {
    const [mine, other] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    const user = await createUser(platform.db, application, {
      ...{ vehicleIds: [mine.id], role: 'viewer', passwordHash: await hashPassword(password) },
    });
    const { page } = await watchPage(browser, platform.httpUrl);
    await page.goto('/devices');
    await page.getByText('Application user').click();
    await page.getByLabel('Application', { exact: true }).fill(application.appId);
    await page.getByLabel('User name').fill(user.username);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('cell', { name: mine.deviceId }).waitFor();
    expect(await page.getByRole('cell', { name: other.deviceId }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Add a device' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Accounts' }).count()).toBe(0);
    await page.getByRole('link', { name: mine.deviceId }).click();
    await page.getByRole('heading', { name: 'Links' }).waitFor();
    expect(await page.getByRole('button', { name: /Unlink|secret|Delete/ }).count()).toBe(0);
    await page.context().close();
  });

  it('has no barrier that axe finds serious, in light and dark', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const { page } = await open('/devices', await accountOf('administrator'));
    for (const [path, sign] of [
      ['/devices', page.getByRole('cell', { name: vehicle.deviceId })],
      [`/devices/${vehicle.deviceId}`, page.getByRole('button', { name: 'Create a device key' })],
      ['/devices?add=one', page.getByRole('button', { name: 'Create device' })],
    ] as const) {
      await page.goto(path);
      await sign.waitFor();
      expect([path, await findAllBarriers(page)]).toEqual([path, []]);
    }
    await page.context().close();
  });
});
