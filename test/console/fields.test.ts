import { eventually } from '@odograph/testkit/eventually';
import { createOperator } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeLanguages } from '../../apps/console/src/texts/languages.ts';
import { loadServices } from '../../services/platform/services.ts';
import {
  closePages,
  findOverflow,
  signedInOptions,
  startBrowser,
  type WatchedPage,
  watchPage,
} from './browser.fixture.ts';
import { createTestFleet, reading, type TestFleet } from './fleet.fixture.ts';

/** Long enough for a busy machine. */
const pollOptions = { timeout: 20_000 };

let platform: TestPlatform;
let browser: Browser;
let fleet: TestFleet;
/** The cookie of an operator of the application. */
let cookie: string;

/** Opens an address as that operator, with preferences stored in the browser. */
async function open(path: string, preferences: object = {}, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const signedIn = signedInOptions(platform.httpUrl, cookie, preferences);
  const watched = await watchPage(browser, platform.httpUrl, { ...signedIn, ...options });
  await watched.page.goto(path);
  return watched;
}

const close = (page: Page) => page.context().close();
const rowsOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true }).getByRole('row');

describe.skipIf(!hasBrowser)('the fields of readings in the console', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    fleet = await createTestFleet(platform);
    ({ cookie } = await createOperator(platform.db, { role: 'operator', applicationIds: [fleet.application.id] }));
    const { location, ...groups } = reading({ ago: 10 }) as { location: object };
    await fleet.parked.device.upload([
      {
        ...{ ...groups, location: { ...location, altitude: 35 }, alarms: { gps_jamming: false } },
        electric: { soc: 80, soh: 0, voltage: 400, temperature: 21 },
        fleet: { ChargeLevel: 80, RemainingRange: 0, mileage: 1000, lock: 'LOCKED', ChargingStatus: 'NOT_CHARGING' },
        status: { ignition: false, mileage: 15_230.4, autonomy: 200 },
        can: [{ key: 'io239', value: '1' }],
        sensors: [{ name: 'cold room', data: [{ key: 'temperature', value: '4.5' }] }],
      },
    ]);
    const newest = sql`select from vehicle_latest where vehicle_id = ${Number(fleet.parked.id)} and sensors is not null`;
    await eventually(async () => {
      if ((await newest.execute(platform.db)).rows.length === 0) throw new Error('the reading is not stored yet');
    });
  });
  afterAll(async () => {
    await closePages(browser);
    await fleet?.stop();
    await platform?.stop();
  });

  it('shows each known value once, with name, unit and age', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.parked.id}`);
    await rowsOf(page, 'Traction battery')
      .filter({ hasText: /^Voltage400\.0 V\d+ \w+ ago$/ })
      .waitFor();
    await rowsOf(page, 'Sensors')
      .filter({ hasText: /^cold room · temperature4\.5 °C/ })
      .waitFor();
    await rowsOf(page, 'CAN')
      .filter({ hasText: /^io2391/ })
      .waitFor();
    await rowsOf(page, 'Vehicle')
      .filter({ hasText: /^Chargingnot charging/ })
      .waitFor();
    await rowsOf(page, 'Alarms of the device')
      .filter({ hasText: /^GPS jammingno/ })
      .waitFor();
    const named = await page.locator('.figures dt, .groups th').allInnerTexts();
    expect(named).toEqual([...new Set(named)]);
    expect(named).not.toContain('State of health');
    expect(await page.locator('.figures').innerText()).toMatch(/Charge\s80 %.*Range\s200 km.*Mileage\s15,230 km/s);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('link', { name: 'Values' }).click();
    await page.getByRole('rowheader', { name: 'Traction battery' }).waitFor();
    const listed = await page.getByRole('rowheader').allInnerTexts();
    expect(listed).toEqual([...new Set(listed)]);
    expect(listed.filter((name) => ['Charge', 'Range', 'Mileage'].includes(name))).toHaveLength(3);
    expect(errors).toEqual([]);
    await close(page);
  });

  it('draws the last trip on a small map', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.moving.id}`);
    await page.getByRole('region', { name: 'Last trip' }).getByRole('link', { name: /km/ }).waitFor();
    await page.getByRole('region', { name: 'Last trip' }).locator('canvas').waitFor();
    expect(errors).toEqual([]);
    await close(page);
  });

  it('shows values in miles, feet and °F where they are chosen', async () => {
    const { page, errors } = await open(`/vehicles/${fleet.parked.id}/values`, { units: 'imperial' });
    await page.getByRole('row', { name: /Mileage 9,464 mi/ }).waitFor();
    await page.getByRole('row', { name: /Altitude 115 ft/ }).waitFor();
    await page.getByRole('row', { name: /Battery temperature 69\.8 °F/ }).waitFor();
    await page.goto(`/vehicles/${fleet.moving.id}/charts?fields=speed`);
    await page.getByText(/· 22 mph/).waitFor();
    expect(errors).toEqual([]);
    await close(page);
  });

  it('accepts a radius in feet and stores it in metres', async () => {
    const { page } = await open('/alarms/geofences', { units: 'imperial' });
    await page.getByRole('button', { name: 'New circle' }).click();
    await page.getByLabel('Name').fill('Yard in feet');
    await page.getByLabel('Latitude').fill('48.85');
    await page.getByLabel('Longitude').fill('2.35');
    await page.getByLabel('Radius, ft').fill('1000');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('circle, 1,000 ft').waitFor();
    const { rows } = await sql<{ radius_metres: number }>`
      select radius_metres from geofence where name = 'Yard in feet'`.execute(platform.db);
    expect(rows[0]?.radius_metres).toBeCloseTo(304.8, 9);
    await close(page);
  });

  it.each([
    ['en-GB', '1,500', 'New circle', ['Latitude', 'Longitude', 'Radius, m'], 'Save', 'Enter a number such as 1234.5,'],
    ['de-DE', '1.500', 'Neuer Kreis', ['Breitengrad', 'Längengrad', 'Radius, m'], 'Speichern', 'Geben Sie eine Zahl'],
  ] as const)(
    'reads a decimal comma in %s, and %s never as another number',
    async (locale, thousands, create, [latitude, longitude, radius], save, fault) => {
      const { page } = await open('/alarms/geofences', {}, { locale });
      const type = async (label: string, text: string) => {
        await page.getByLabel(label).clear();
        await page.getByLabel(label).pressSequentially(text);
      };
      const stored = async () =>
        (
          await sql<{
            place: object;
            radius: number;
          }>`select geometry -> 'coordinates' as place, radius_metres as radius
          from geofence where name = ${locale}`.execute(platform.db)
        ).rows;
      await page.getByRole('button', { name: create }).click();
      await page.getByLabel('Name').fill(locale);
      await type(latitude, '-48,85');
      await type(longitude, '2.125');
      await type(radius, thousands);
      await page.getByRole('button', { name: save }).click();
      const message = await page.getByLabel(radius).evaluate((input) => Reflect.get(input, 'validationMessage'));
      expect(message).toContain(fault);
      expect(await stored()).toEqual([]);
      await type(radius, '12,5');
      await page.getByRole('button', { name: save }).click();
      await page.getByRole('button', { name: save }).waitFor({ state: 'detached' });
      expect(await stored()).toEqual([{ place: [2.125, -48.85], radius: 12.5 }]);
      await close(page);
    },
  );

  it('names a year by the chosen time zone, and keeps the interval of charts while time passes', async () => {
    const signedIn = signedInOptions(platform.httpUrl, cookie, { zone: 'utc' });
    const { page } = await watchPage(browser, platform.httpUrl, { ...signedIn, timezoneId: 'America/New_York' });
    await page.clock.install({ time: '2030-01-01T02:00:00Z' });
    await page.goto(`/vehicles/${fleet.parked.id}/charts?until=${Date.parse('2029-12-31T22:00:00Z') / 1000}`);
    await page.getByText(/^30 Dec 2029,? 22:00 – 31 Dec 2029,? 22:00$/).waitFor();
    await page.getByRole('button', { name: 'Later' }).click();
    const label = page.locator('.charts-bar > .muted');
    const until = /\d\d:\d\d:\d\d$/;
    await expect.poll(() => label.innerText(), pollOptions).toMatch(until);
    const shown = await label.innerText();
    await page.clock.runFor(60_000);
    expect(await label.innerText()).toBe(shown);
    await close(page);
  });

  it.each([
    ['en-US', 'Mileage', /15,230 km/, /^[A-Z][a-z]{2} \d+, \d{4}, \d+:\d\d:\d\d [AP]M/],
    ['en-GB', 'Mileage', /15,230 km/, /^\d+ [A-Z][a-z]{2,3} \d{4},? (at )?\d\d:\d\d:\d\d /],
    ['fr-FR', 'Kilométrage', /15\s230 km/, /^\d+ [a-zéû]+\.? \d{4}(,| à) \d\d:\d\d:\d\d /],
  ])('writes dates and numbers as in %s', async (locale, name, number, date) => {
    const { page } = await open(`/vehicles/${fleet.parked.id}`, {}, { locale });
    const mileage = page.locator('.figures .card').filter({ hasText: name });
    await mileage.getByText(number).waitFor();
    expect(await mileage.locator('small').getAttribute('title')).toMatch(date);
    await close(page);
  });

  it('fits the names of screens in the menu in each language', async () => {
    const { page } = await open('/profile', {}, { viewport: { width: 1440, height: 900 } });
    const wide = () =>
      page.evaluate(`[...document.querySelectorAll('.rail-link')].filter((link) => {
        const range = document.createRange();
        range.selectNodeContents(link);
        const [text, place] = [range.getBoundingClientRect(), link.getBoundingClientRect()];
        return place.width > 0 && (text.left < place.left || text.right > place.right);
      }).map(({ textContent }) => textContent)`);
    for (const language of completeLanguages) {
      await page.evaluate(`localStorage.setItem('odograph-preferences', '{"language":"${language}"}')`);
      await page.reload();
      await page.locator(`html[lang=${language}] .rail-link`).first().waitFor();
      await expect.poll(wide, { ...pollOptions, message: language }).toEqual([]);
    }
    await close(page);
  });

  it('supports a right-to-left language at 390 and 1440 pixels width', async () => {
    const { page } = await open('/profile');
    for (const path of ['/profile', '/vehicles', `/vehicles/${fleet.parked.id}`, '/bookings', '/alarms/rules']) {
      await page.goto(path);
      await page.getByRole('heading').first().waitFor();
      await page.evaluate(`document.documentElement.dir = 'rtl'`);
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect([path, width, await findOverflow(page)]).toEqual([path, width, []]);
        const rail = await page.locator('.rail').boundingBox();
        expect((rail?.x ?? 0) + (rail?.width ?? 0)).toBe(width);
      }
    }
    await close(page);
  });
});
