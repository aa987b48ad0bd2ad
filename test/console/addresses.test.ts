import { createVehicle } from '@odograph/testkit/fixtures';
import { browserPath } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findOverflow } from './browser.fixture.ts';
import { type ConsoleSetup, startConsole } from './console.fixture.ts';

let setup: ConsoleSetup;

beforeAll(async () => {
  setup = await startConsole();
}, 120_000);
afterAll(() => setup?.stop());

it.skipIf(browserPath === undefined)('shows the places where trips began and ended', async () => {
  const { platform, application } = setup;
  const { id } = await createVehicle(platform.db, application);
  await sql`insert into geofence (application_id, name, geometry, radius_metres) values
    (${application.id}, 'Depot', '{"type": "Point", "coordinates": [9.52, 47.14]}', 100),
    (${application.id}, 'Customer', '{"type": "Point", "coordinates": [9.5, 47.2]}', 100)`.execute(platform.db);
  await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km,
      first_latitude, first_longitude, last_latitude, last_longitude)
    values (${Number(id)}, now() - interval '2 hours', now() - interval '1 hour', now() - interval '1 hour', true, false, 9,
      47.14, 9.52, 47.2, 9.5)`.execute(platform.db);
  const { page } = await setup.open(`/vehicles/${id}/trips`, await setup.accountOf('viewer'));
  await page.getByText('Depot – Customer').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await findOverflow(page)).toEqual([]);
});
