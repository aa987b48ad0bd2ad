import { clientWithToken } from '@odograph/testkit/api-client';
import { createUnlinkedVehicle, updateVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConsoleSetup, startConsole } from './console.fixture.ts';
import { createAccount, createTestFleet, endSessions, password, reading, type TestFleet } from './fleet.fixture.ts';

let setup: ConsoleSetup;
let fleet: TestFleet;
let operator: string;

const open = async (path: string): Promise<Page> => (await setup.open(path, operator)).page;
const failed = (page: Page) => page.getByText('This could not be loaded');

/** Opens an address without loading the page again, as the history of the browser does. */
const navigate = (page: Page, path: string) =>
  page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);

/** Reconnects the live stream of the page without its cursor, so that it begins with a reset. */
async function resetStream(page: Page): Promise<void> {
  await page.route('**/v1/x/events?*', (route, request) => {
    const { 'last-event-id': _cursor, ...headers } = request.headers();
    return route.continue({ headers });
  });
  const reopened = page.waitForRequest('**/v1/x/events?*');
  await page.evaluate("dispatchEvent(new Event('online'))");
  await reopened;
}

describe.skipIf(!hasBrowser)('the console while answers are late, missing or replaced', () => {
  beforeAll(async () => {
    setup = await startConsole();
    fleet = await createTestFleet(setup.platform);
    operator = await createAccount(setup.platform, fleet, 'operator');
  });
  afterAll(async () => {
    await fleet?.stop();
    await setup?.stop();
  });

  it('shows no trips of another week while a week loads, or when it fails to load', async () => {
    const page = await open(`/vehicles/${fleet.moving.id}/trips`);
    const trips = page.locator('.trip-row');
    await trips.first().waitFor();
    const held: (() => void)[] = [];
    await page.route('**/v1/vehicle/*/trips?*', (route) => held.push(() => void route.abort()));
    await page.getByRole('button', { name: 'Earlier' }).click();
    await expect.poll(() => held.length).toBe(1);
    expect(await trips.count()).toBe(0);
    held[0]?.();
    await failed(page).waitFor();
    expect(await trips.count()).toBe(0);
    await page.context().close();
  });

  it('selects no trip if the one in the address does not exist', async () => {
    const page = await open(`/vehicles/${fleet.moving.id}/trips?trip=deleted`);
    await page.locator('.trip-row').first().waitFor();
    expect(await page.locator('.trip-row[aria-current="true"]').count()).toBe(0);
    expect(await page.getByRole('slider').count()).toBe(0);
    await page.context().close();
  });

  it('lists no vehicles of an earlier search when a search fails', async () => {
    const page = await open('/vehicles');
    await page.getByRole('link', { name: fleet.moving.plate }).waitFor();
    await page.route('**/v1/x/vehicles?q=*', (route) => route.abort());
    await page.getByRole('searchbox').fill('PK-200');
    await failed(page).waitFor();
    expect(await page.getByRole('link', { name: fleet.moving.plate }).count()).toBe(0);
    await page.context().close();
  });

  it('stays on a screen that is opened while a search is pending', async () => {
    const page = await open('/vehicles');
    const link = page.getByRole('link', { name: fleet.parked.plate });
    await link.waitFor();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await page.getByRole('searchbox').fill('MV');
    await link.click();
    await page.waitForURL(`/vehicles/${fleet.parked.id}`);
    await page.clock.runFor(1000);
    expect(new URL(page.url()).pathname).toBe(`/vehicles/${fleet.parked.id}`);
    await page.context().close();
  });

  it('does not show the commands of one vehicle on the page of another one', async () => {
    const page = await open(`/vehicles/${fleet.moving.id}/commands`);
    await page.getByRole('button', { name: 'Sound the horn' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sound the horn' }).click();
    await page.getByRole('cell', { name: /done/ }).first().waitFor();
    await navigate(page, `/vehicles/${fleet.parked.id}/commands`);
    await page.getByRole('heading', { name: fleet.parked.plate }).waitFor();
    await page.getByText('No commands yet').waitFor();
    expect(await page.getByText('Sound the horn').count()).toBe(1);
    await page.context().close();
  });

  it('shows the lock above the commands as the device reports it now', async () => {
    const page = await open(`/vehicles/${fleet.parked.id}/commands`);
    const state = page.locator('.command-state');
    await state.getByText('locked', { exact: true }).waitFor();
    await fleet.parked.device.upload([{ ...reading(), fleet: { lock: 'UNLOCKED', doors: 'OPEN' } }]);
    await expect.poll(() => state.getByText('unlocked', { exact: true }).count()).toBe(1);
    await page.context().close();
  });

  it('says that nobody has a key only if the platform says so', async () => {
    const page = await open(`/vehicles/${fleet.parked.id}/access`);
    await page.route('**/v1/vehicle/*/status?*', (route) =>
      route.fulfill({ status: 503, json: { error: 'OVERLOADED', message: 'try again' } }),
    );
    await navigate(page, `/vehicles/${fleet.parked.id}`);
    await failed(page).waitFor();
    expect(await page.getByText('Nobody has a key now.').count()).toBe(0);
    await page.unroute('**/v1/vehicle/*/status?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Nobody has a key now.').waitFor();
    await page.context().close();
  });

  it.each([
    ['the page of a vehicle', ''],
    ['all values', '/values'],
  ])('shows the last reported lock state, or an error if it cannot be reloaded: %s', async (_name, tab) => {
    const upload = (lock: string) => fleet.parked.device.upload([{ ...reading(), fleet: { lock } }]);
    const page = await open(`/vehicles/${fleet.parked.id}${tab}`);
    const shown = (text: string) => page.getByText(text, { exact: true });
    await page.getByText(/^(?:un)?locked$/).waitFor();
    for (const lock of ['LOCKED', 'UNLOCKED', 'LOCKED']) {
      await upload(lock);
      await shown(lock.toLowerCase()).waitFor();
    }
    await page.route('**/v1/x/vehicle/*/values', (route) =>
      route.fulfill({ status: 503, json: { error: 'OVERLOADED', message: 'the values are not available' } }),
    );
    await upload('UNLOCKED');
    await shown('the values are not available').waitFor();
    await page.unroute('**/v1/x/vehicle/*/values');
    await upload('UNLOCKED');
    await shown('unlocked').waitFor();
    expect(await shown('the values are not available').count()).toBe(0);
    await page.context().close();
  });

  it('keeps the page of a vehicle, and a link shown once, when the live stream is reset', async () => {
    const page = await open(`/vehicles/${fleet.parked.id}/access`);
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    const link = page.getByRole('region', { name: 'Shown once' });
    await link.waitFor();
    await resetStream(page);
    await fleet.parked.device.upload([reading({ speed: 36 })]);
    await page.locator('.state-chip').getByText('Moving').waitFor();
    expect(await link.count()).toBe(1);
    await page.context().close();
  });

  it('hides the states of services when they cannot be read again', async () => {
    const { page } = await setup.open('/pipeline', await createAccount(setup.platform, undefined));
    await page.getByText('listening').first().waitFor();
    await page.route('**/health', (route) => route.abort());
    await failed(page).waitFor();
    expect(await page.getByText('listening').count()).toBe(0);
    await page.context().close();
  });

  it('skips no page of alarms when the list reloads while an older page is read', async () => {
    const { httpUrl, db } = setup.platform;
    const vehicleIds = [fleet.parked.id];
    const rule = { name: 'Crash', kind: 'crash', parameters: {}, vehicleIds };
    const { id } = (await clientWithToken(httpUrl, fleet.application.token).post('/v1/x/alarm-rules', rule)).body;
    await sql`insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, cleared_at)
      select ${fleet.application.id}, ${id}, ${Number(fleet.parked.id)}, 'crash', time, time
      from generate_series(now() - interval '6 hours', now() - interval '1 hour', interval '1 hour') as time`.execute(
      db,
    );
    const page = await open('/profile');
    const held: (() => Promise<void>)[] = [];
    let olderPages = 0;
    await page.route('**/v1/x/alarms?*address=true*', (route, request) => {
      const url = new URL(request.url());
      url.searchParams.set('limit', '2');
      const proceed = () => route.continue({ url: url.href });
      if (url.searchParams.has('after')) olderPages += 1;
      if (olderPages !== 2 || held.length > 0) return proceed();
      return void held.push(proceed);
    });
    await page.goto('/alarms?kind=crash');
    const rows = page.getByRole('list', { name: 'Alarms' }).getByRole('listitem');
    const older = page.locator('.alarm-older');
    await expect.poll(() => rows.count()).toBe(2);
    await older.click();
    await expect.poll(() => rows.count()).toBe(4);
    await older.click();
    await expect.poll(() => held.length).toBe(1);
    await resetStream(page);
    await expect.poll(() => rows.count()).toBe(2);
    const answered = page.waitForResponse('**/v1/x/alarms?*after=*');
    await held[0]?.();
    await answered;
    for (const count of [4, 6]) {
      await older.click();
      await expect.poll(() => rows.count()).toBe(count);
    }
    await page.context().close();
  });

  it('names each vehicle of a replay correctly although the VIN of another one contains its identifier', async () => {
    const { db } = setup.platform;
    const [id, other] = [
      await createUnlinkedVehicle(db, fleet.application),
      await createUnlinkedVehicle(db, fleet.application),
    ];
    await updateVehicle(db, id, { plate: 'ZZ-900-ZZ' });
    await updateVehicle(db, other, { plate: 'AA-100-AA', vin: `VF1${id}0000` });
    const page = await open(`/replay?vehicles=${id}`);
    const rows = page.getByRole('region', { name: 'Vehicles of the replay' }).getByRole('row');
    await expect.poll(() => rows.filter({ hasText: 'ZZ-900-ZZ' }).count()).toBe(1);
    await page.context().close();
  });

  it('keeps an appKey that is shown once when the session cannot be read again', async () => {
    const { page } = await setup.open('/accounts', await createAccount(setup.platform, undefined, 'administrator'));
    const name = page.getByLabel('Name of a new application');
    await name.waitFor();
    const aborted = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/v1/x/session'));
    await page.route('**/v1/x/session', (route) => route.abort(), { times: 1 });
    await name.fill('Depot');
    await page.getByRole('button', { name: 'Create' }).click();
    await aborted;
    await page.waitForResponse('**/v1/x/session');
    expect(await page.getByRole('region', { name: 'Shown once' }).count()).toBe(1);
    await page.context().close();
  });

  it('says that a sign-out failed', async () => {
    const page = await open('/profile');
    await page.route('**/v1/x/session', (route) => route.abort());
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'Failed to fetch' });
    await expect.poll(() => alert.count()).toBe(1);
    await page.context().close();
  });

  it('signs out of a session that has ended', async () => {
    const own = await createAccount(setup.platform, fleet, 'operator');
    const { page } = await setup.open('/profile', own);
    await page.getByRole('heading', { name: own }).waitFor();
    // An answer to a request of the screen would ask for the password.
    await page.waitForLoadState('networkidle');
    await endSessions(setup.platform, own);
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText(own).count()).toBe(0);
    await page.context().close();
  });

  it('changes a password once, however often the form is sent', async () => {
    const page = await open('/profile');
    const held: (() => void)[] = [];
    await page.route('**/v1/x/session/password', (route) => held.push(() => void route.continue()));
    await page.getByLabel('Current password').first().fill(password);
    await page.getByLabel('New password').fill('another long password');
    for (const _time of [1, 2]) await page.getByLabel('New password').press('Enter');
    await expect.poll(() => held.length).toBeGreaterThan(0);
    for (const proceed of held) proceed();
    await page.getByText('The password is changed.').waitFor();
    expect(held).toHaveLength(1);
    await page.context().close();
  });
});
