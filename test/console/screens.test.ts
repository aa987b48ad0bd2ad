import { clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { createOperator } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../services/fleet/accounts/passwords.ts';
import { loadServices } from '../../services/platform/services.ts';
import { startTcpProxy, type TcpProxy } from '../faults/parts/tcp-proxy.fixture.ts';
import { closePages, openSignedIn, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
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
let origin: string;
let browser: Browser;
let fleet: TestFleet;
let name: string;
let watched: WatchedPage;

async function open(path: string, account = name): Promise<WatchedPage> {
  watched = await watchPage(browser, origin);
  await openAs(platform, watched, path, account);
  return watched;
}

describe.skipIf(!hasBrowser)('the screens of the console', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    proxy = await startTcpProxy(Number(new URL(platform.httpUrl).port));
    origin = `http://127.0.0.1:${proxy.port}`;
    fleet = await createTestFleet(platform);
    name = await createAccount(platform, fleet);
    await clientWithToken(platform.httpUrl, fleet.application.token).post('/v1/vehicle/privacy/on', {
      vehicleId: fleet.hidden.id,
    });
  });
  beforeEach(() => proxy.mend());
  afterAll(async () => {
    await closePages(browser);
    proxy?.close();
    await fleet?.stop();
    await platform?.stop();
  });

  it('the map lists every vehicle live, private ones without a place, and asks for nothing outside of the platform', async () => {
    const { page, errors, foreignRequests } = await open('/map');
    const list = page.getByRole('list', { name: 'Vehicles' });
    await list.getByRole('button', { name: /MV-100-AA Moving.*36 km\/h/ }).waitFor();
    await list.getByRole('button', { name: /PK-200-BB Parked/ }).waitFor();
    await list.getByRole('button', { name: /PV-300-CC Private/ }).click();
    await page.getByText('Location privacy is on').waitFor();
    await fleet.moving.device.upload([reading({ speed: 54, driven: 22 })]);
    await list.getByRole('button', { name: /MV-100-AA Moving.*54 km\/h/ }).waitFor();
    await fleet.moving.device.upload([reading({ driven: 22, isOn: true })]);
    await list.getByRole('button', { name: /MV-100-AA Standing/ }).waitFor();
    expect(await page.title()).toBe('Map · Odograph');
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    await page.context().close();
  });

  it('the map shows the last trip of a vehicle on one click, and finds vehicles by their plates', async () => {
    const { page } = await open('/map');
    await page.getByLabel('Search vehicles').fill('mv100');
    await page.getByText('1 vehicle', { exact: true }).waitFor();
    await page.getByLabel('Search vehicles').press('Enter');
    await page.getByRole('button', { name: 'Last trip' }).click();
    const trip = page.getByText(/1\.3 km · 5 min/);
    await trip.waitFor();
    expect(await trip.isVisible()).toBe(true);
    await page.context().close();
  });

  it('says since when it is not live, and shows what it missed when the platform answers again', async () => {
    const { page } = await open('/map');
    await page.getByText('Live', { exact: true }).waitFor();
    proxy.cut();
    await page.getByText(/No connection since/).waitFor();
    await fleet.moving.device.upload([reading({ speed: 72, driven: 25 })]);
    proxy.mend();
    await page.getByText('Live', { exact: true }).waitFor();
    const missed = page.getByRole('button', { name: /MV-100-AA Moving.*72 km\/h/ });
    await missed.waitFor();
    expect(await missed.isVisible()).toBe(true);
    await page.context().close();
  });

  it('asks for the password in place when the session ends, and keeps what was typed', async () => {
    const { page } = await open('/map');
    await page.getByLabel('Search vehicles').fill('PK-200');
    await endSessions(platform, name);
    proxy.cut();
    proxy.mend();
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Search vehicles').inputValue()).toBe('PK-200');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().close();
  });

  it('the table of vehicles is searched, filtered and sorted by the platform', async () => {
    const { page } = await open('/vehicles');
    const plates = () => page.locator('tbody tr td:first-child').allInnerTexts();
    await page.getByRole('cell', { name: 'PV-300-CC' }).waitFor();
    expect(await plates()).toEqual(['MV-100-AA', 'PK-200-BB', 'PV-300-CC']);
    await page.getByRole('button', { name: 'Plate' }).click();
    await page.waitForURL(/sort=-plate/);
    await page.locator('tbody tr:first-child', { hasText: 'PV-300-CC' }).waitFor();
    expect(await plates()).toEqual(['PV-300-CC', 'PK-200-BB', 'MV-100-AA']);
    await page.getByText('Private', { exact: true }).first().click();
    await page.getByRole('cell', { name: 'PK-200-BB' }).waitFor({ state: 'detached' });
    expect(await plates()).toEqual(['PV-300-CC']);
    await page.context().close();
  });

  it('a command is confirmed, sent once and followed to its outcome', async () => {
    const { page } = await open(`/vehicles/${fleet.parked.id}/commands`);
    await page.getByText('locked', { exact: true }).waitFor();
    const danger = page.getByRole('region', { name: 'Starting the engine' });
    await danger.getByText('The engine cannot be started until').waitFor();
    await page.getByRole('button', { name: 'Sound the horn' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sound the horn' }).click();
    await page.getByRole('row', { name: /Sound the horn.*done/ }).waitFor();
    const sent = platform.db.selectFrom('command').select('state').where('vehicle_id', '=', Number(fleet.parked.id));
    expect(await sent.execute()).toEqual([{ state: 'acknowledged' }]);
    await page.context().close();
  });

  it('an operator who can only read cannot send commands', async () => {
    const { page } = await open(
      `/vehicles/${fleet.parked.id}/commands`,
      await createAccount(platform, fleet, 'viewer'),
    );
    await page.getByText('Your role can only read.').waitFor();
    expect(await page.getByRole('button', { name: 'Sound the horn' }).isDisabled()).toBe(true);
    await page.context().close();
  });

  it('any field is drawn over any interval', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}/charts`);
    await page.getByRole('img', { name: 'Charge' }).waitFor();
    await page.getByRole('combobox', { name: 'Add a field' }).selectOption('voltage');
    await page.getByRole('img', { name: 'voltage' }).waitFor();
    await page.getByText('Year', { exact: true }).click();
    await page
      .getByText(/400\.0 V/)
      .first()
      .waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('a trip is replayed on the map and in the chart', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}/trips`);
    await page.getByRole('button', { name: /1\.3 km/ }).waitFor();
    const slider = page.getByRole('slider', { name: 'Time within the trip' });
    const start = await slider.inputValue();
    await page.getByRole('button', { name: 'Play' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await expect.poll(() => slider.inputValue()).not.toBe(start);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('the pipeline shows its services and history, and replays from quarantine', async () => {
    await fleet.parked.device.upload('not JSON');
    const account = await createOperator(platform.db, { passwordHash: await hashPassword(password) });
    const { page, errors } = await open('/pipeline', account.name);
    await page.getByText('processing uploads').waitFor();
    await page.getByRole('img', { name: 'Uploads accepted' }).waitFor();
    const uploads = page.getByRole('list', { name: 'Quarantine' }).getByRole('listitem');
    const upload = uploads.filter({ hasText: fleet.parked.deviceId }).first();
    await upload.locator('summary').click();
    await upload.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Back in quarantine').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('the audit shows who did what, newest first, is searched, and verified for an administrator', async () => {
    const client = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
    for (const suffix of ['1', '2']) {
      await client.post('/v1/x/admin/vehicles', { appId: fleet.application.appId, plate: `AU-${suffix}` });
    }
    const { page } = await open('/audit');
    const rows = page.getByRole('region', { name: 'Audit' }).getByRole('listitem');
    await page.getByLabel('Actor, action or subject').fill('VEHICLE.create');
    await expect.poll(() => rows.count()).toBe(2);
    await rows.first().getByText('Vehicle: created').click();
    await rows.first().getByText('vehicle.create').waitFor();
    await rows.first().getByText('127.0.0.1').waitFor();
    await page.context().close();

    const account = await createAccount(platform, undefined, 'administrator');
    const { page: administrator } = await open('/audit', account);
    await administrator.getByRole('button', { name: 'Verify the chains' }).click();
    // Other tests alter chains of the same database on purpose.
    const verdict = administrator.getByText(/^(?:Intact|Altered): /);
    await verdict.waitFor();
    expect(await verdict.isVisible()).toBe(true);
    await administrator.context().close();
  });

  it('opens screens and the search by keyboard, and lists the keys', async () => {
    const { page } = await open('/map');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('?gv');
    expect(await page.getByLabel('Search vehicles').inputValue()).toBe('?gv');
    await page.getByLabel('Search vehicles').blur();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('g v').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.type('gv');
    await page.getByRole('heading', { name: 'Vehicles' }).waitFor();
    expect(await page.title()).toBe('Vehicles · Odograph');
    await page.context().close();
  });

  it('opens without a network after a first visit, and says that the platform does not answer', async () => {
    const watched = await watchPage(browser, origin, { serviceWorkers: 'allow' });
    const { page } = watched;
    await openSignedIn(watched, '/map', { name, password });
    await page.evaluate('navigator.serviceWorker.ready');
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    proxy.cut();
    await page.goto('/vehicles');
    await page.getByText('The platform does not answer').waitFor();
    const kept = await page.evaluate(
      `caches.open('shell').then(async (cache) => (await cache.keys()).map(({ url }) => url))`,
    );
    expect((kept as string[]).filter((url) => !/\/(?:assets\/.*)?$/.test(new URL(url).pathname))).toEqual([]);
    proxy.mend();
    await page.getByRole('cell', { name: 'MV-100-AA' }).waitFor();
    await page.context().close();
  });

  it('an unknown or forbidden address leads to a page', async () => {
    const limited = await createAccount(platform, fleet);
    const { page } = await open('/queues', limited);
    await page.getByText('There is no such page').waitFor();
    expect((await page.goto('/nowhere'))?.status()).toBe(404);
    await page.getByText('There is no such page').waitFor();
    await page.context().close();
  });
});
