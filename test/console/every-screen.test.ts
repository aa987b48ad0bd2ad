import { connectDevice } from '@odograph/simulator/device-connection';
import { clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice, createOperator, createUser } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform, testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, findBarriers, findOverflow, signedInOptions, startBrowser, watchPage } from './browser.fixture.ts';
import { createTestFleet, reading, type TestFleet } from './fleet.fixture.ts';

let platform: TestPlatform;
let browser: Browser;
let fleet: TestFleet;
let screens: readonly Screen[];

/** A screen with data, in any language. */
interface Screen {
  readonly path: string;
  /** Selects an element that appears once its data has loaded. */
  readonly sign: string;
  /** Selects the element to click first. */
  readonly click?: string;
  /** For administrators of the whole platform, who also see the data of other tests. */
  readonly isOfPlatform?: true;
}

const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

/** Gives the moving vehicle CAN data, a sensor, missing readings, keys, a booking and a privacy interval. */
async function addHistory({ application, moving }: TestFleet): Promise<void> {
  const detailed = (sequence: number, ago: number) => ({
    ...reading({ ago, speed: 36, driven: 19 }),
    ...{ sequence, electric: { soc: 80, soh: 96, voltage: 400, maxEnergy: 52 }, can: [{ key: 'rpm', value: '2100' }] },
    sensors: [{ name: 'cold room', data: [{ key: 'temperature', value: '4.5' }] }],
  });
  const issuer = await createUser(platform.db, application, { vehicleIds: [moving.id], role: 'manager' });
  await moving.device.upload([detailed(1, 120), detailed(2, 110), detailed(5, 60)]);
  await sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until, issued_by) values
    (${moving.id}::integer, 'anna', 'DRIVE', now() - interval '1 day', now() + interval '1 day', ${issuer.id}),
    (${moving.id}::integer, 'ben', 'LOCK_UNLOCK', now() - interval '3 days', now() - interval '2 days', null)`.execute(
    platform.db,
  );
  await sql`insert into privacy_period values
    (${moving.id}::integer, tstzrange(now() - interval '3 hours', now() - interval '2 hours'))`.execute(platform.db);
}

/** Fills every list of the console. @returns the id of the webhook */
async function addRecords({ application, moving, parked, hidden }: TestFleet): Promise<{ webhookId: string }> {
  const api = clientWithToken(platform.httpUrl, application.token);
  const admin = createApiClient(platform.httpUrl, { authorization: `Bearer ${testAdminToken}` });
  const { appId } = application;
  const post = async (path: string, body: object, client = api) => {
    const answer = await client.post(path, body);
    expect([path, answer.status, answer.body.error]).toEqual([path, 200, undefined]);
    return answer.body;
  };
  const vehicleId = moving.id;
  await post('/v1/vehicle/privacy/on', { vehicleId: hidden.id });
  const group = await post('/v1/x/groups', { name: 'Depot of the north of the region' });
  await post('/v1/x/groups', { name: 'Vans', parentId: group.id });
  await post('/v1/x/alarm-rules', { name: 'Motorway', kind: 'speed', parameters: { limitKmh: 30 } });
  const geometry = { type: 'Point', coordinates: [2.35, 48.85] };
  await post('/v1/x/geofences', { name: 'Depot', geometry, radiusMetres: 300 });
  const driver = 'a-driver-with-a-long-name@fleet.example';
  await post(`/v1/vehicle/${vehicleId}/booking`, { from: inHours(1), until: inHours(20), type: 'BOOKING', driver });
  const place = { address: '1 rue de Rivoli', zipcode: '75001', city: 'Paris', country: 'France' };
  await post('/v1/parkings', { name: 'Depot', ...place, latitude: 48.85, longitude: 2.35 });
  await post('/v1/vehicle', { plate: 'RQ-100-AA', request: 'OBD device' });
  const seconds = Math.floor(Date.now() / 1000);
  await post('/v1/x/exports', { format: 'csv', from: seconds - 86_400, until: seconds });
  await sql`with schedule as (insert into report_schedule (application_id, kind, format, every, time_zone, hour, language,
          recipients, next_due_at)
        values (${application.id}, 'trips', 'pdf', 'month', 'UTC', 6, 'en', '{a-recipient-with-a-long-name@fleet.example}',
          now() + interval '1 day') returning *),
      report as (insert into sent_report (application_id, schedule_id, due_at, from_at, until_at, state, accepted, outdated_at,
          last_error)
        select application_id, id, now(), now() - interval '1 month', now(), 'sent', recipients, now(),
          'the mail server answered 451' from schedule returning *)
    insert into sent_report_vehicle (application_id, schedule_id, due_at, vehicle_id, totals, changes)
    select application_id, schedule_id, due_at, ${moving.id}::integer, '{}', '{"distanceKm": [1000.5, 1234.25]}'
    from report`.execute(platform.db);
  const webhook = await post('/v1/x/webhooks', { url: 'https://receiver.invalid/a/long/path', types: ['trip.*'] });
  const slack = { url: 'https://chat.invalid/hook' };
  await post('/v1/x/notifications', { events: ['booking.overdue', 'booking.starting', 'device.silent'], slack });
  await post('/v1/x/admin/sources', { appId, format: 'flespi', createDevices: true }, admin);
  await parked.device.upload('not JSON');
  const stray = await createDevice(platform.db, {
    deviceId: `a-device-with-a-long-name-${Date.now()}-without-a-vehicle`,
  });
  const connection = await connectDevice(platform.mqttUrl, stray);
  await connection.upload([reading()]);
  await connection.close();
  await moving.device.upload([reading({ speed: 50, driven: 20 })]);
  await eventually(async () => expect((await api.get('/v1/x/alarms')).body.alarms).toHaveLength(1));
  return { webhookId: webhook.id };
}

function screensOf({ application: { appId }, moving, parked }: TestFleet, webhookId: string): readonly Screen[] {
  const vehicle = `/vehicles/${moving.id}`;
  return [
    { path: '/map', sign: '.map-side >> text=MV-100-AA' },
    { path: `/map?vehicle=${moving.id}`, sign: '.vehicle-card' },
    { path: '/map/settings', sign: 'input[type=file]', isOfPlatform: true },
    { path: '/vehicles', click: '.column-choice summary', sign: 'td >> text=MV-100-AA' },
    { path: '/vehicles?groups', sign: 'text=Vans' },
    { path: '/vehicles?groups', click: '.button.primary', sign: 'form' },
    { path: '/vehicles?add=one', sign: 'form' },
    { path: '/vehicles?add=file', sign: 'input[type=file]' },
    { path: vehicle, sign: 'text=cold room' },
    { path: `${vehicle}/charts`, sign: '.chart canvas' },
    { path: `${vehicle}/battery`, sign: '.chart canvas' },
    { path: `${vehicle}/trips`, sign: '.trips-main canvas' },
    { path: `${vehicle}/values`, sign: 'text=rpm' },
    { path: `${vehicle}/access`, sign: 'text=ben' },
    { path: `${vehicle}/records`, sign: 'summary' },
    { path: `/vehicles/${parked.id}/commands`, click: '.command-group button', sign: 'dialog' },
    { path: `${vehicle}/details`, sign: '.details-card .row' },
    { path: `/replay?vehicles=${moving.id},${parked.id}`, sign: 'input[type=range]' },
    { path: '/devices', sign: `text=${moving.deviceId}` },
    { path: `/devices/${moving.deviceId}`, sign: 'text=MV-100-AA' },
    { path: '/devices?add=one', sign: 'form' },
    { path: '/devices?add=file', sign: 'input[type=file]' },
    { path: '/reports?interval=lastMonth', sign: '.report-table' },
    { path: '/reports?kind=mileage&interval=thisYear', sign: '.mileage-use' },
    { path: '/reports?kind=mileage&interval=thisYear', click: '.mileage-use', sign: 'dialog form' },
    { path: '/reports/schedules', sign: '.report-schedule' },
    { path: '/reports/schedules', click: '.report-schedule a', sign: '.sent-report table' },
    { path: '/reports/schedules', click: '.button.primary', sign: 'form' },
    { path: '/exports', sign: '.export-list li' },
    { path: '/exports/imports', sign: 'input[type=file]' },
    { path: '/alarms', sign: 'main >> text=MV-100-AA' },
    { path: '/alarms/rules', sign: 'text=Motorway' },
    { path: '/alarms/rules', click: '.button.primary', sign: 'form' },
    { path: '/alarms/geofences', sign: 'text=Depot' },
    { path: '/alarms/geofences', click: '.button.primary', sign: 'form' },
    { path: '/bookings', sign: 'text=MV-100-AA' },
    { path: '/bookings', click: '.button.primary', sign: 'dialog form' },
    { path: '/bookings/spots', sign: 'text=Depot' },
    { path: '/bookings/requests', sign: 'text=RQ-100-AA' },
    { path: '/integrations', sign: 'text=receiver.invalid' },
    { path: '/integrations', click: '.button.primary', sign: 'form' },
    { path: `/integrations?webhook=${webhookId}`, sign: 'text=receiver.invalid' },
    { path: '/integrations/notifications', sign: 'text=chat.invalid' },
    { path: '/integrations/notifications', click: '.button.primary', sign: 'form' },
    { path: '/integrations/notifications', click: '.integration-row a', sign: '.facts' },
    { path: '/integrations/sources', sign: '.source-row' },
    { path: '/integrations/gbfs', sign: 'form' },
    { path: '/integrations/reports', sign: 'code' },
    { path: '/accounts', sign: `text=${appId}` },
    { path: `/accounts/applications/${appId}`, sign: 'form' },
    { path: '/accounts/users', click: 'details.user summary', sign: '.user-body table' },
    { path: '/accounts/operators', sign: 'details.user', isOfPlatform: true },
    { path: '/accounts/data', sign: 'form' },
    { path: '/pipeline', sign: `text=${parked.deviceId}`, isOfPlatform: true },
    { path: '/audit', click: '.audit-row summary', sign: '.audit-details' },
    { path: '/profile', sign: 'form' },
    { path: '/nowhere', sign: '.placeholder' },
    { path: '/docs/devices', sign: 'h2' },
  ];
}

interface View {
  readonly width: number;
  readonly colorScheme: 'light' | 'dark';
}

const phone: View = { width: 390, colorScheme: 'dark' };
const tablet: View = { width: 820, colorScheme: 'light' };
const desktop: View = { width: 1440, colorScheme: 'light' };

/** Resolves when the page is drawn in the new size and colours. */
async function view(page: Page, { width, colorScheme }: View): Promise<void> {
  await page.setViewportSize({ width, height: 844 });
  await page.emulateMedia({ colorScheme });
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
}

/** The rules that depend on size or colours. */
const rulesOfLayout = ['color-contrast', 'target-size', 'scrollable-region-focusable'];

/** The desktop differs from the phone only in layout and colours, and the tablet from the desktop only in layout. */
const findBarriersIn = async (page: Page, one: View) =>
  one === tablet ? [] : findBarriers(page, one === desktop ? rulesOfLayout : undefined);

/** Opens a screen by client-side navigation, as a link does: reloading the console for each takes more CPU time. */
async function show(page: Page, { path, sign, click }: Screen): Promise<void> {
  const move = (to: string) =>
    page.evaluate(
      `history.replaceState(null, '', ${JSON.stringify(to)}); dispatchEvent(new PopStateEvent('popstate'))`,
    );
  // Ensures that nothing of the previous screen is left.
  await move('/nowhere');
  await page.locator('.placeholder').waitFor();
  if (path.startsWith('/docs')) await page.goto(path);
  else await move(path);
  if (click !== undefined) await page.locator(click).first().click();
  await page.locator(sign).first().waitFor();
}

/** Lists persistent faults, for up to 10 s: data and layout may change after the sign of the screen appears. */
async function findFaults(page: Page, one: View): Promise<string[]> {
  let found: string[] = [];
  const expectNone = async () => {
    found = [...(await findOverflow(page)), ...(await findBarriersIn(page, one))];
    expect(found).toEqual([]);
  };
  await eventually(expectNone, 10_000).catch(() => undefined);
  return found;
}

describe.skipIf(!hasBrowser)('every screen of the console', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    fleet = await createTestFleet(platform);
    await addHistory(fleet);
    const { webhookId } = await addRecords(fleet);
    screens = screensOf(fleet, webhookId);
  });
  afterAll(async () => {
    await closePages(browser);
    await fleet?.stop();
    await platform?.stop();
  });

  it('is found at its address', async () => {
    const statuses: [path: string, status: number][] = [];
    for (const { path } of screens) {
      const { status } = await fetch(`${platform.httpUrl}${path}`, { headers: { accept: 'text/html' } });
      if (status !== 200) statuses.push([path, status]);
    }
    expect(statuses).toEqual([['/nowhere', 404]]);
  });

  // French has the longest texts. The other tests of the console cover English names: they find elements by them.
  it('fits 390 (dark), 820 and 1440 pixels in French, and has no axe violations', { timeout: 600_000 }, async () => {
    const faults: [path: string, width: number, faults: string[]][] = [];
    for (const isOfPlatform of [undefined, true] as const) {
      const { cookie } = await createOperator(platform.db, {
        ...(isOfPlatform !== true && { applicationIds: [fleet.application.id] }),
      });
      const options = { ...signedInOptions(platform.httpUrl, cookie), locale: 'fr-FR' };
      const { page } = await watchPage(browser, platform.httpUrl, options);
      await page.goto('/nowhere');
      for (const screen of screens.filter((one) => one.isOfPlatform === isOfPlatform)) {
        await view(page, phone);
        await show(page, screen);
        for (const one of [phone, tablet, desktop]) {
          await view(page, one);
          const found = await findFaults(page, one);
          if (found.length > 0) faults.push([screen.path, one.width, found]);
        }
      }
      await page.context().close();
    }
    expect(faults).toEqual([]);
  });
});
