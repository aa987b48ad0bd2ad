import { fileURLToPath } from 'node:url';
import { createVehicle } from '@odograph/testkit/fixtures';
import { hasBrowser } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeLatest } from '../../services/query/query.fixture.ts';
import { findBarriers, findOverflow } from './browser.fixture.ts';
import { type ConsoleSetup, startConsole } from './console.fixture.ts';

/** Liechtenstein. */
const streets = fileURLToPath(new URL('../../services/platform/demo/map/streets.pmtiles', import.meta.url));
let setup: ConsoleSetup;
let vehicleId: string;

/** Creates a vehicle at the depot, after a trip to a customer and an alarm there. */
async function createVisitor({ platform: { db }, application }: ConsoleSetup): Promise<string> {
  const { id } = await createVehicle(db, application);
  await sql`insert into geofence (application_id, name, geometry, radius_metres) values
    (${application.id}, 'Depot', '{"type": "Point", "coordinates": [9.52, 47.14]}', 100),
    (${application.id}, 'Customer', '{"type": "Point", "coordinates": [9.5, 47.2]}', 100)`.execute(db);
  await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km,
      first_latitude, first_longitude, last_latitude, last_longitude)
    values (${Number(id)}, now() - interval '2 hours', now() - interval '1 hour', now() - interval '1 hour', true, false, 9,
      47.14, 9.52, 47.2, 9.5)`.execute(db);
  await sql`with rule as (insert into alarm_rule (application_id, name, kind, parameters, all_vehicles)
      values (${application.id}, 'Crashes', 'crash', '{}', true) returning id)
    insert into alarm (application_id, rule_id, vehicle_id, kind, raised_at, latitude, longitude)
    select ${application.id}, rule.id, ${Number(id)}, 'crash', now(), 47.2, 9.5 from rule`.execute(db);
  await storeLatest(db, id, new Date().toISOString(), { location: { latitude: 47.14, longitude: 9.52 } });
  return id;
}

describe.skipIf(!hasBrowser)('the console shows the places', () => {
  beforeAll(async () => {
    setup = await startConsole({ MAP_TILES: streets });
    vehicleId = await createVisitor(setup);
  }, 120_000);
  afterAll(() => setup?.stop());

  it('where trips began and ended', async () => {
    const { page } = await setup.open(`/vehicles/${vehicleId}/trips`, await setup.accountOf('viewer'));
    await page.getByText('Depot – Customer').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findOverflow(page)).toEqual([]);
  });

  it('of vehicles on the map, on their page and in their table, and of alarms', async () => {
    const { page } = await setup.open(`/map?vehicle=${vehicleId}`, await setup.accountOf('viewer'));
    await page.locator('.vehicle-card').getByText('Depot').waitFor();
    await page.goto(`/vehicles/${vehicleId}`);
    await page.getByRole('region', { name: 'Last trip' }).getByText('Depot').waitFor();
    await page.goto('/alarms');
    await page.getByText('Crashes · Customer').waitFor();
    await page.goto('/vehicles');
    await page.locator('summary', { hasText: 'Columns' }).click();
    await page.getByLabel('Place').check();
    await page.getByRole('cell', { name: 'Depot' }).waitFor();
    expect(await findOverflow(page)).toEqual([]);
  });

  it('found by a search on the map: parking spots while typing, addresses on Enter', async () => {
    const { page, errors } = await setup.open('/map', await setup.accountOf('viewer'));
    const search = page.getByLabel('Search vehicles and places');
    await search.fill('cust');
    await page.getByRole('list', { name: 'Places' }).getByText('Customer').waitFor();
    await search.press('Enter');
    await page.locator('.maplibregl-marker[title="Customer"]').waitFor();
    await search.fill('schaan');
    await page.getByRole('button', { name: 'Search addresses: schaan' }).waitFor();
    expect(await page.getByRole('list', { name: 'Places' }).innerText()).toBe('');
    await search.press('Enter');
    await page.locator('.maplibregl-marker[title="Schaan"]').waitFor();
    await page.getByRole('list', { name: 'Places' }).getByText('Schaanwald').waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findOverflow(page)).toEqual([]);
    await search.fill('nowhere at all');
    await search.press('Enter');
    await page.getByText('No address found').waitFor();
    expect(errors).toEqual([]);
  });
});
