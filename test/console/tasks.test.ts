import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { clientWithToken } from '@odograph/testkit/api-client';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice, createOperator, createUser } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, signedInOptions, startBrowser, watchPage } from './browser.fixture.ts';
import { uniqueName } from './console.fixture.ts';
import { createTestFleet, reading, type TestFleet } from './fleet.fixture.ts';

let platform: TestPlatform;
let browser: Browser;
let fleet: TestFleet;
let cookie: string;
let stray: DeviceConnection;
let driver: string;
/** Clicks and seconds of each task, printed at the end (docs/console.md, "Common tasks"). */
const lines: string[] = [];

let strayId: string;

const row = (page: Page) => page.getByRole('button', { name: /^MV-100-AA/ });
const card = (page: Page) => page.getByRole('region', { name: 'MV-100-AA' });
const open = (page: Page, screen: string) =>
  page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: screen }).click();

/** Yesterday at 14:00 in the time zone of the browser, as typed by a person and in UNIX seconds. */
async function yesterday(page: Page): Promise<{ typed: string; seconds: number }> {
  const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  const typed = `${day}T14:00`;
  return { typed, seconds: (await page.evaluate(`Date.parse('${typed}') / 1000`)) as number };
}

interface Task {
  readonly name: string;
  /** Maximum number of clicks, starting from the map. */
  readonly clicks: number;
  /** Runs before the count. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Performs the task and waits for its result. Typing and keys do not count as clicks. */
  readonly perform: (page: Page) => Promise<void>;
}

const tasks: readonly Task[] = [
  {
    ...{ name: 'find a vehicle by its plate', clicks: 1 },
    async perform(page) {
      await page.getByRole('searchbox').click();
      await page.keyboard.type('mv100');
      await page.getByRole('button', { name: /^PK-200-BB/ }).waitFor({ state: 'detached' });
      await page.keyboard.press('Enter');
      await card(page).waitFor();
    },
  },
  {
    ...{ name: 'see where it was yesterday at 14:00', clicks: 3 },
    async prepare(page) {
      const { seconds } = await yesterday(page);
      const drive = Array.from({ length: 20 }, (_unused, driven) => ({
        ...reading({ speed: 36, driven }),
        timestamp: seconds + driven * 60,
      }));
      await fleet.moving.device.upload(drive);
      const first = sql`select from reading where vehicle_id = ${Number(fleet.moving.id)}
        and time = to_timestamp(${seconds}::double precision)`;
      await eventually(async () => expect((await first.execute(platform.db)).rows).toHaveLength(1));
    },
    async perform(page) {
      const { typed, seconds } = await yesterday(page);
      await row(page).click();
      await card(page).getByRole('link', { name: 'Replay' }).click();
      const from = page.getByLabel('From');
      await from.click();
      await from.fill(typed);
      await from.press('Tab');
      const slider = page.getByRole('slider');
      await expect.poll(async () => Math.abs(Number(await slider.inputValue()) - seconds)).toBeLessThan(60);
    },
  },
  {
    ...{ name: 'replay the last day', clicks: 3 },
    async perform(page) {
      await row(page).click();
      await card(page).getByRole('link', { name: 'Replay' }).click();
      await page.getByRole('button', { name: 'Play' }).click();
      await page.getByRole('button', { name: 'Pause' }).waitFor();
    },
  },
  {
    ...{ name: 'lock it', clicks: 3 },
    async perform(page) {
      await row(page).click();
      await card(page).getByRole('link', { name: 'Lock the doors' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Lock the doors' }).click();
      await page.getByRole('cell', { name: /done/ }).first().waitFor();
    },
  },
  {
    ...{ name: 'add a vehicle with its device', clicks: 5 },
    async perform(page) {
      await open(page, 'Vehicles');
      await page.getByRole('link', { name: 'Add a vehicle' }).click();
      await page.getByLabel('Plate').click();
      await page.keyboard.type(uniqueName('TK'));
      await page.keyboard.press('Enter');
      await page.getByRole('textbox', { name: 'Device' }).click();
      await page.keyboard.type(uniqueName('unit'));
      await page.getByRole('button', { name: 'Create device' }).click();
      await page.getByText('Waiting for its first reading…').waitFor();
    },
  },
  {
    ...{ name: 'set an alarm on a geofence', clicks: 5 },
    async perform(page) {
      await open(page, 'Alarms');
      await page.getByRole('link', { name: 'Geofences' }).click();
      await page.getByRole('link', { name: 'New alarm: Depot' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('listitem').filter({ hasText: 'Depot' }).waitFor();
    },
  },
  {
    ...{ name: 'see why an upload was refused', clicks: 3 },
    prepare: () => stray.upload([reading()]),
    async perform(page) {
      await open(page, 'Pipeline');
      await page.getByRole('list', { name: 'Quarantine' }).getByText(strayId).click();
      await page.getByText('Opening these bytes is recorded in the audit.').waitFor();
    },
  },
  {
    ...{ name: 'grant a vehicle to a user', clicks: 3 },
    async perform(page) {
      await open(page, 'Accounts');
      await page.getByRole('link', { name: 'Users' }).click();
      await page.getByText(driver).click();
      await page.keyboard.press('Tab');
      await page.keyboard.type('MV-100-AA');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'MV-100-AA' }).waitFor();
    },
  },
  {
    ...{ name: 'book a vehicle', clicks: 4 },
    async perform(page) {
      await open(page, 'Bookings');
      await page.getByRole('button', { name: 'New booking of PK-200-BB' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: /^PK-200-BB, .*Booking/ }).waitFor();
    },
  },
  {
    ...{ name: 'download last month as CSV', clicks: 3 },
    async perform(page) {
      await open(page, 'Exports');
      await page.getByRole('button', { name: 'Create export' }).click();
      const file = page.getByRole('link', { name: /^Download: .*CSV/ });
      await Promise.all([page.waitForEvent('download'), file.click()]);
    },
  },
];

describe.skipIf(!hasBrowser)('a person who starts on the map', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    fleet = await createTestFleet(platform);
    const { application } = fleet;
    ({ cookie } = await createOperator(platform.db, { applicationIds: [application.id] }));
    driver = (await createUser(platform.db, application)).username;
    const device = await createDevice(platform.db, { applicationId: application.id });
    strayId = device.deviceId;
    stray = await connectDevice(platform.mqttUrl, device);
    const geometry = { type: 'Point', coordinates: [2.35, 48.85] };
    const api = clientWithToken(platform.httpUrl, application.token);
    await api.post('/v1/x/geofences', { name: 'Depot', geometry, radiusMetres: 200 });
  });
  afterAll(async () => {
    process.stdout.write(`${lines.join('\n')}\n`);
    await closePages(browser);
    await stray?.close();
    await fleet?.stop();
    await platform?.stop();
  });

  it.each(tasks)('can $name in at most $clicks clicks', async ({ name, clicks, prepare, perform }) => {
    const { page, errors } = await watchPage(browser, platform.httpUrl, signedInOptions(platform.httpUrl, cookie));
    let pressed = 0;
    await page.exposeFunction('countPress', () => {
      pressed += 1;
    });
    await page.addInitScript("addEventListener('pointerdown', ({ isTrusted }) => isTrusted && countPress(), true)");
    await page.goto('/map');
    await row(page).waitFor();
    await prepare?.(page);
    const start = performance.now();
    await perform(page);
    lines.push(`| ${name} | ${pressed} | ${((performance.now() - start) / 1000).toFixed(1)} |`);
    expect(pressed).toBeGreaterThan(0);
    expect(pressed).toBeLessThanOrEqual(clicks);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
