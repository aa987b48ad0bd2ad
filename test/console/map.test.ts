import { clientWithToken } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServices } from '../../services/platform/services.ts';
import { closePages, startBrowser, type WatchedPage, watchPage } from './browser.fixture.ts';
import { createAccount, openAs } from './fleet.fixture.ts';

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

const lyon = { latitude: 45.76, longitude: 4.83 };
const nice = { latitude: 43.7, longitude: 7.27 };

let platform: TestPlatform;
let browser: Browser;
/** Three vehicles at one place, and one far away. */
let stacked: TestApplication;
/** One vehicle that becomes private, and one far away. */
let secretive: TestApplication;
let secret: TestVehicle;
let large: TestApplication;
let wanted: TestVehicle;

/** Creates a parked vehicle at a place. */
async function park(application: TestApplication, plate: string, place: Place): Promise<TestVehicle> {
  const vehicle = await createVehicle(platform.db, application);
  await platform.db.updateTable('vehicle').set({ plate }).where('id', '=', Number(vehicle.id)).execute();
  await sql`insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, received_at)
    values (${Number(vehicle.id)}, now(), ${JSON.stringify(place)}::jsonb, now(), '{"ignition": false}', now(), now())`.execute(
    platform.db,
  );
  return vehicle;
}

/** Adds vehicles all over France, more than a map shows one by one. */
async function growFleet({ id }: TestApplication): Promise<void> {
  await sql`with created as (insert into vehicle (application_id, plate) select ${id}, 'LF-' || n from generate_series(1, 2100) as n
      returning id)
    insert into vehicle_latest (vehicle_id, time, location, location_time, status, status_time, received_at)
    select id, now(), jsonb_build_object('latitude', 44 + random() * 5, 'longitude', random() * 6), now(), '{"ignition": false}',
      now(), now() from created`.execute(platform.db);
}

async function open(application: TestApplication, path: string): Promise<WatchedPage> {
  const watched = await watchPage(browser, platform.httpUrl);
  await openAs(platform, watched, path, await createAccount(platform, { application }));
  return watched;
}

const card = (page: Page, plate: string) => page.getByRole('region', { name: plate });

/** Opens the map with a vehicle in its middle, and leaves nothing chosen. */
async function centre(page: Page, plate: string): Promise<void> {
  await page.getByRole('button', { name: new RegExp(plate) }).click();
  await card(page, plate).getByRole('button', { name: 'Follow' }).click();
  await expect.poll(() => page.locator('.maplibregl-ctrl-scale').innerText()).toMatch(/^\d{2,3}\s?m$/);
  await card(page, plate).getByRole('button', { name: 'Close' }).click();
  await card(page, plate).waitFor({ state: 'detached' });
}

async function clickMiddle(page: Page): Promise<void> {
  const box = await page.locator('.maplibregl-canvas').boundingBox();
  await page.mouse.click((box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2);
}

describe.skipIf(!hasBrowser)('the fleet on the map', () => {
  beforeAll(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(await loadServices()), startBrowser()]);
    const { db } = platform;
    [stacked, secretive, large] = [
      await createApplication(db),
      await createApplication(db),
      await createApplication(db),
    ];
    for (const plate of ['ST-1', 'ST-2', 'ST-3']) await park(stacked, plate, lyon);
    for (const application of [stacked, secretive]) await park(application, 'FA-1', nice);
    secret = await park(secretive, 'PR-1', lyon);
    await growFleet(large);
    wanted = await park(large, 'WA-NT-ED', nice);
  });
  afterAll(async () => {
    await closePages(browser);
    await platform?.stop();
  });

  it('lists vehicles that stand at one place when that place is clicked', async () => {
    const { page, errors } = await open(stacked, '/map');
    await centre(page, 'ST-1');
    await expect
      .poll(async () => {
        await clickMiddle(page);
        return page.getByText('3 vehicles at this place').count();
      })
      .toBe(1);
    const rows = page.getByRole('list', { name: 'Vehicles' }).getByRole('button');
    expect(await rows.allInnerTexts()).toEqual([1, 2, 3].map((n) => expect.stringContaining(`ST-${n}`)));
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByRole('button', { name: /FA-1/ }).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('takes a vehicle off the map, but not off the list, while it is private', async () => {
    const { page } = await open(secretive, '/map');
    await centre(page, 'PR-1');
    await expect
      .poll(async () => {
        await clickMiddle(page);
        return card(page, 'PR-1').count();
      })
      .toBe(1);
    await card(page, 'PR-1').getByRole('button', { name: 'Close' }).click();
    const client = clientWithToken(platform.httpUrl, secretive.token);
    await client.post('/v1/vehicle/privacy/on', { vehicleId: secret.id });
    await page.getByRole('button', { name: /PR-1 Private/ }).waitFor();
    // Time for the map to draw again.
    await page.evaluate('new Promise((done) => setTimeout(done, 1000))');
    await clickMiddle(page);
    expect(await card(page, 'PR-1').count()).toBe(0);
    await page.context().close();
  });

  it('shows no failure of the route of another vehicle', async () => {
    const { page } = await open(stacked, '/map');
    const held = new Map<string, Route>();
    await page.route('**/v1/x/vehicle/*/trail?*', async (route) => {
      held.set(route.request().url().split('/')[6] ?? '', route);
    });
    const ask = async (plate: string): Promise<Route> => {
      const known = [...held.keys()];
      await page.getByRole('button', { name: new RegExp(plate) }).click();
      await card(page, plate).getByRole('button', { name: 'Last hour' }).click();
      await expect.poll(() => held.size).toBe(known.length + 1);
      const [asked] = [...held].filter(([id]) => !known.includes(id));
      if (!asked) throw new Error('no route was requested');
      return asked[1];
    };
    const first = await ask('ST-1');
    const second = await ask('FA-1');
    const failed = page.waitForEvent('requestfailed');
    await first.abort();
    await failed;
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    await second.fulfill({ json: { points: [], stops: [], totals: {} } });
    await card(page, 'FA-1').getByText('No positions in the last hour.').waitFor();
    await page.context().close();
  });

  it('finds a vehicle of a large fleet wherever it is, flies there and follows it', async () => {
    const { page } = await open(large, '/map');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await page.getByText('2,101 vehicles on this part of the map').waitFor();
    await page.getByLabel('Search vehicles').fill('wa-nt');
    await page.getByText('1 found in the whole fleet').waitFor();
    const close = page.waitForRequest((request) => {
      const query = new URL(request.url()).searchParams;
      const [west = 0, , east = 0] = (query.get('bbox') ?? '').split(',').map(Number);
      return query.get('vehicles') === wanted.id && west > 7.1 && east < 7.5 && east > west;
    });
    await page.getByRole('button', { name: /WA-NT-ED Parked/ }).click();
    await card(page, 'WA-NT-ED').waitFor();
    await close;
    const follow = page.getByRole('button', { name: 'Follow' });
    expect(await follow.getAttribute('aria-pressed')).toBe('true');
    await page.getByLabel('Search vehicles').fill('nothing like it');
    await page.getByText('No vehicle matches').waitFor();
    await page.context().close();
  });
});
