import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { createDevice, createOperator, createUnlinkedVehicle, createUser } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, signedInOptions, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
import { createTestFleet, reading, type TestFleet } from './fleet.fixture.ts';

/** For a page on a busy machine. */
const pollOptions = { timeout: 20_000 };

let platform: TestPlatform;
let browser: Browser;
let fleet: TestFleet;
let stray: DeviceConnection;
let strayId: string;

/** A browser in which an operator of the application is signed in. */
let signedIn: BrowserContextOptions;

/** Opens an address as that operator. */
async function open(path: string): Promise<WatchedPage> {
  const watched = await watchPage(browser, platform.httpUrl, signedIn);
  const { page } = watched;
  await page.goto(path);
  return watched;
}

/** A reading with a number of the device, the health of its battery, CAN data and a sensor. */
const detailed = (sequence: number, ago: number): object => ({
  ...reading({ ago, speed: 36, driven: 19 }),
  sequence,
  electric: { soc: 80, soh: 96, voltage: 400, maxEnergy: 52 },
  can: [
    { key: 'rpm', value: '2100' },
    { key: 'battery_volts', value: '12.6' },
  ],
  sensors: [{ name: 'cold room', data: [{ key: 'temperature', value: '4.5' }] }],
});

/** Gives the moving vehicle a past and a current key, a booking, a privacy interval, and two missing readings. */
async function addHistory({ application, moving }: TestFleet): Promise<void> {
  const { db } = platform;
  const issuer = await createUser(db, application, { vehicleIds: [moving.id], role: 'manager' });
  await moving.device.upload([detailed(1, 120), detailed(2, 110), detailed(5, 60)]);
  await sql`insert into bluetooth_authorization (vehicle_id, driver_id, level, valid_from, valid_until, issued_by) values
    (${moving.id}::integer, 'anna', 'DRIVE', now() - interval '1 day', now() + interval '1 day', ${issuer.id}),
    (${moving.id}::integer, 'ben', 'LOCK_UNLOCK', now() - interval '3 days', now() - interval '2 days', null)`.execute(
    db,
  );
  await sql`insert into booking (application_id, vehicle_id, user_id, type, starts_at, ends_at, authorization_id)
    values (${application.id}, ${moving.id}::integer, 'anna', 'BOOKING', now() - interval '1 day', now() + interval '1 day',
      gen_random_uuid())`.execute(db);
  await sql`insert into privacy_period values
    (${moving.id}::integer, tstzrange(now() - interval '3 hours', now() - interval '2 hours'))`.execute(db);
}

/** The bounds of a chart's pixels in the accent colour, as shares of the plot. */
interface DrawnChart {
  /** Whether a label of an axis reaches the left edge, where it would be cut. */
  readonly isCut: boolean;
  readonly left: number;
  readonly right: number;
  readonly top: number;
}

/** Runs in the page, whose types the tests do not have. */
const readPixels = `(chart) => {
  const canvas = chart?.querySelector('canvas');
  const plot = chart?.querySelector('.u-over');
  if (!canvas || !plot) return undefined;
  const scale = canvas.width / canvas.clientWidth;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const probe = chart.appendChild(document.createElement('span'));
  probe.style.color = 'var(--accent)';
  const accent = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  probe.remove();
  const isAccent = (at) =>
    data[at + 3] > 200 && accent.every((value, channel) => Math.abs(data[at + channel] - value) < 9);
  const xs = [];
  const ys = [];
  for (let at = 0; at < data.length; at += 4) {
    if (!isAccent(at)) continue;
    xs.push(((at / 4) % canvas.width / scale - plot.offsetLeft) / plot.offsetWidth);
    ys.push((Math.floor(at / 4 / canvas.width) / scale - plot.offsetTop) / plot.offsetHeight);
  }
  if (xs.length === 0) return undefined;
  const firstColumn = Array.from({ length: canvas.height }, (_, y) => data[y * canvas.width * 4 + 3]);
  const isCut = firstColumn.some((alpha) => alpha > 0);
  return { isCut, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys) };
}`;

/** Reads a chart from its pixels; undefined before it is drawn. */
const readChart = (page: Page, label: string): Promise<DrawnChart | undefined> =>
  page.evaluate(`(${readPixels})(document.querySelector('.chart[aria-label="${label}"]'))`);

const close = (page: Page) => page.context().close();

describe.skipIf(!hasBrowser)('the page of a vehicle', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    fleet = await createTestFleet(platform);
    const account = await createOperator(platform.db, { role: 'operator', applicationIds: [fleet.application.id] });
    signedIn = signedInOptions(platform.httpUrl, account.cookie);
    await addHistory(fleet);
    const device = await createDevice(platform.db, { applicationId: fleet.application.id });
    strayId = device.deviceId;
    stray = await connectDevice(platform.mqttUrl, device);
  });
  afterAll(async () => {
    await closePages(browser);
    await stray?.close();
    await fleet?.stop();
    await platform?.stop();
  });

  it('shows the health of the traction battery and the voltage of the 12 V battery over time', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}/battery`);
    await page.getByText('96 %').first().waitFor();
    await page.getByText('12.60').first().waitFor();
    for (const chart of ['State of health', 'Capacity', 'battery_volts'])
      await page.getByRole('img', { name: chart }).waitFor();
    expect(errors).toEqual([]);
    await close(page);
  });

  it('lists every value, and opens the chart of one with the intervals without data marked', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}/values`);
    const sensors = page.getByRole('rowgroup').filter({ hasText: 'Sensors' });
    await sensors.getByRole('row', { name: /^cold room · temperature 4\.5 °C/ }).waitFor();
    await page.getByLabel('Search values').fill('rpm');
    await page.getByRole('row', { name: /cold room/ }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'rpm' }).click();
    await page.waitForURL(/charts\?fields=can\.rpm/);
    await page.getByRole('img', { name: 'rpm' }).waitFor();
    const marks = page.getByRole('list', { name: 'Marked in the charts' });
    await marks.getByText('2 readings missing').waitFor();
    await marks.getByText('Location privacy').waitFor();
    expect(errors).toEqual([]);
    await close(page);
  });

  it('draws a single value where it belongs in the interval, and whole labels', async () => {
    const value = { key: 'single_value', value: '123456.25' };
    await fleet.parked.device.upload([{ timestamp: Date.now() / 1000 - 6 * 3600, can: [value] }, reading()]);
    const { page, errors } = await open(`/vehicles/${fleet.parked.id}/charts?fields=can.single_value,soc`);
    await expect.poll(() => readChart(page, 'single_value'), pollOptions).toBeDefined();
    const single = await readChart(page, 'single_value');
    expect(single?.isCut).toBe(false);
    expect(single?.left).toBeCloseTo(0.75, 1);
    expect(single?.right).toBeCloseTo(0.75, 1);
    const charge = await readChart(page, 'Charge');
    // 80 % of an axis that ends at 100 %.
    expect(charge?.top).toBeCloseTo(0.2, 1);
    expect(charge?.left).toBeGreaterThan(0.95);
    expect(errors).toEqual([]);
    await close(page);
  });

  it('keeps the interval of the charts and the chosen trip in the address', async () => {
    const { page } = await open(`/vehicles/${fleet.moving.id}/charts?fields=soc`);
    await page.getByText('Week', { exact: true }).click();
    await page.waitForURL((url) => url.search.endsWith('?fields=soc&period=week'));
    await page.getByRole('button', { name: 'Earlier' }).click();
    await page.waitForURL(/period=week&until=\d+$/);
    await page.reload();
    await expect.poll(() => page.getByRole('radio', { name: 'Week' }).isChecked(), pollOptions).toBe(true);
    await page.getByRole('button', { name: 'Later' }).click();
    await page.waitForURL((url) => url.search.endsWith('period=week'));
    await page.goto(`/vehicles/${fleet.moving.id}/trips`);
    const trips = page.getByRole('region', { name: 'Trips' });
    await trips
      .getByRole('button', { name: /^\d\d:\d\d – \d\d:\d\d/ })
      .first()
      .click();
    await page.waitForURL(/trips\?until=\d+&trip=./);
    expect(await page.getByRole('button', { name: 'Later' }).isDisabled()).toBe(true);
    await page.reload();
    await page.locator('.trip-row[aria-current="true"]').waitFor();
    await close(page);
  });

  it('says who has and had keys, who issued them, and who booked', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}/access`);
    const keys = page.getByRole('region', { name: 'Keys' });
    await keys.getByRole('row', { name: /anna current drive .*[0-9a-f-]{8}/ }).waitFor();
    await keys.getByRole('row', { name: /ben ended lock and unlock .* the application/ }).waitFor();
    await page
      .getByRole('region', { name: 'Bookings', exact: true })
      .getByRole('row', { name: /anna current/ })
      .waitFor();
    expect(errors).toEqual([]);
    await close(page);
  });

  it('turns location privacy on and off, and lists the private intervals', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.parked.id}/access`);
    for (const [action, shown] of [
      ['Turn on', /On since .*: positions are neither shown nor stored/],
      ['Turn off', 'Off: positions are stored.'],
    ] as const) {
      await page.getByRole('button', { name: action }).click();
      await page.getByRole('dialog').getByRole('button', { name: action }).click();
      await page.getByText(shown).waitFor();
    }
    await page.getByText('Private intervals of the last 90 days').click();
    expect(await page.getByRole('listitem').filter({ hasText: '–' }).count()).toBe(1);
    expect(errors).toEqual([]);
    await close(page);
  });

  it('lists missing readings, devices in time and readings as stored', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}/records`);
    await page
      .getByRole('region', { name: 'Missing readings' })
      .getByRole('row', { name: /2 3 – 4 missing/ })
      .waitFor();
    await page.getByRole('region', { name: 'Devices over time' }).getByText(fleet.moving.deviceId).waitFor();
    await page.getByText('number 5').first().click();
    await page.getByText('"key": "battery_volts"').first().waitFor();
    expect(errors).toEqual([]);
    await close(page);
  });

  it('moves the vehicle on the map with the cursor of the chart, and the cursor with the slider', async () => {
    const { page } = await open(`/vehicles/${fleet.moving.id}/trips`);
    const slider = page.getByRole('slider', { name: 'Time within the trip' });
    const start = await slider.inputValue();
    const chart = page.getByRole('img', { name: 'Speed over the trip' });
    await chart.locator('.u-over').hover({ position: { x: 200, y: 30 } });
    await expect.poll(() => slider.inputValue(), pollOptions).not.toBe(start);
    const cursor = () => chart.locator('.u-cursor-x').evaluate((line) => line.style.transform);
    await slider.hover();
    const before = await cursor();
    await slider.press('Home');
    await expect.poll(cursor, pollOptions).not.toBe(before);
    await close(page);
  });

  it('replays several vehicles at one time, chosen in the table, without a deleted one', async () => {
    const { page, errors, foreignRequests } = await open('/vehicles');
    for (const { plate } of [fleet.moving, fleet.parked]) await page.getByLabel(`Choose ${plate} for a replay`).check();
    await page.getByRole('link', { name: 'Replay (2)' }).click();
    const rows = page.getByRole('region', { name: 'Vehicles of the replay' }).getByRole('row');
    await rows.filter({ hasText: 'MV-100-AA' }).getByText('moving', { exact: false }).first().waitFor();
    await rows.filter({ hasText: 'PK-200-BB' }).getByText('no data').waitFor();
    const slider = page.getByRole('slider', { name: 'Time of the replay' });
    const start = await slider.inputValue();
    await page.getByRole('button', { name: 'Play' }).click();
    await expect.poll(() => slider.inputValue(), pollOptions).not.toBe(start);
    await rows.filter({ hasText: 'PK-200-BB' }).getByRole('button', { name: 'Remove' }).click();
    await page.waitForURL((url) => url.searchParams.get('vehicles') === fleet.moving.id);
    await rows.filter({ hasText: 'PK-200-BB' }).waitFor({ state: 'detached' });
    await page.goto(`/replay?vehicles=${fleet.moving.id},4000000000`);
    await rows.filter({ hasText: 'MV-100-AA' }).waitFor();
    await page.getByText('Not shown, because deleted or not visible to you: 4000000000').waitFor();
    expect({ errors, foreignRequests }).toEqual({ errors: [], foreignRequests: [] });
    await close(page);
  });

  it('quarantine shows the faulty place in the bytes, and links a device and replays in place', async () => {
    await stray.upload([reading({ ago: 5 })]);
    await fleet.parked.device.upload([{ ...reading(), location: { latitude: 'north', longitude: 2 } }]);
    const target = await createUnlinkedVehicle(platform.db, fleet.application);
    await platform.db.updateTable('vehicle').set({ plate: 'LK-400-DD' }).where('id', '=', Number(target)).execute();
    const { page, errors } = await open('/pipeline');
    await page.getByRole('button', { name: /Invalid value/ }).click();
    const uploads = page.getByRole('list', { name: 'Quarantine' }).getByRole('listitem');
    await uploads.filter({ hasText: fleet.parked.deviceId }).locator('summary').click();
    await uploads.filter({ hasText: fleet.parked.deviceId }).getByText('Reading stored', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Decoded' }).locator('mark', { hasText: '"north"' }).waitFor();
    await page.getByRole('region', { name: 'Bytes' }).locator('mark', { hasText: '6e' }).first().waitFor();
    await page.getByRole('button', { name: /Device not linked/ }).click();
    const strayed = uploads.filter({ hasText: strayId });
    await strayed.locator('summary').click();
    await page.getByLabel(`Link ${strayId} to…`).first().fill('LK-400');
    await page.getByRole('button', { name: /LK-400-DD/ }).click();
    const dialog = page.getByRole('dialog', { name: `Link ${strayId} to LK-400-DD?` });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    const links = () => sql`select from device_link where vehicle_id = ${target}::integer`.execute(platform.db);
    expect((await links()).rows).toEqual([]);
    await page.getByRole('button', { name: /LK-400-DD/ }).click();
    await dialog.getByRole('button', { name: 'Link and replay' }).click();
    await page.getByText('Stored.').waitFor();
    await strayed.waitFor({ state: 'detached' });
    const stored = sql`select from reading where vehicle_id = ${target}::integer`;
    expect((await stored.execute(platform.db)).rows).toHaveLength(1);
    expect(errors).toEqual([]);
    await close(page);
  });

  it.each([390, 820])('has the trips below their map, and every screen in reach, at %i pixels', async (width) => {
    const { page } = await open(`/vehicles/${fleet.moving.id}/trips`);
    await page.setViewportSize({ width, height: 844 });
    const blank = () =>
      page.evaluate(
        'document.querySelector(".trips-side").getBoundingClientRect().top - document.querySelector(".trips-main").getBoundingClientRect().bottom',
      ) as Promise<number>;
    await page.locator('.trips-main canvas').first().waitFor();
    await expect.poll(blank, pollOptions).toBeLessThanOrEqual(0);
    const more = page.getByRole('button', { name: 'More' });
    if (await more.isVisible()) await more.click();
    await page.getByRole('link', { name: 'Profile' }).click({ trial: true });
    const audit = page.getByRole('link', { name: 'Audit' });
    await audit.click();
    await page.waitForURL('/audit');
    // The menu of a narrow screen closes after the address changes.
    await expect.poll(() => audit.isVisible(), pollOptions).toBe(width > 640);
    await close(page);
  });
});
