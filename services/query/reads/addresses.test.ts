import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { application, client, platform, setUpVehicle, vehicle } from '../application.fixture.ts';
import { storeLatest, turnPrivacyOn } from '../query.fixture.ts';
import { storeTrip } from './trips.fixture.ts';

setUpVehicle();

const depot = { latitude: 47.14, longitude: 9.52 };

async function createDepot(): Promise<void> {
  await sql`insert into geofence (application_id, name, geometry, radius_metres)
    values (${application.id}, 'Depot', '{"type": "Point", "coordinates": [9.52, 47.14]}', 100)`.execute(platform.db);
}

it('adds addresses to latest positions and to the ends of trips on request', async () => {
  await createDepot();
  await storeLatest(platform.db, vehicle.id, '2025-03-01', { location: depot });
  await storeTrip(platform.db, vehicle.id, {
    ...{ started_at: '2025-03-01T08:00:00Z', ended_at: '2025-03-01T09:00:00Z', distance_km: 9 },
    ...{ first_latitude: depot.latitude, first_longitude: depot.longitude, last_latitude: 48, last_longitude: 9 },
  });
  const trips = `/v1/vehicle/${vehicle.id}/trips?from=2025-01-01&until=2025-12-31`;
  const [asked, unasked] = [await client.get('/v1/x/vehicles?address=true'), await client.get('/v1/x/vehicles')];
  expect(asked.body.vehicles[0].location).toMatchObject({ ...depot, address: 'Depot' });
  expect(unasked.body.vehicles[0].location.address).toBeUndefined();
  const [trip] = (await client.get(`${trips}&address=true`)).body.trips;
  expect([trip.first_position, trip.last_position]).toEqual([
    { ...depot, address: 'Depot' },
    { latitude: 48, longitude: 9 },
  ]);
  expect((await client.get(trips)).body.trips[0].first_position).toEqual(depot);
});

it('omits addresses while location privacy is on', async () => {
  await createDepot();
  await storeLatest(platform.db, vehicle.id, '2025-03-01', { location: depot });
  await turnPrivacyOn(platform.db, vehicle.id);
  const { body } = await client.get('/v1/x/vehicles?address=true');
  expect(JSON.stringify(body)).not.toContain('Depot');
});
