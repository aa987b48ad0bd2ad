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

it('adds the address to the status of one vehicle in every shape on request', async () => {
  await createDepot();
  await storeLatest(platform.db, vehicle.id, '2025-03-01', { location: depot });
  const read = async (query: string) => (await client.get(`/v1/vehicle/${vehicle.id}/status?${query}`)).body;
  const named = { ...depot, address: 'Depot' };
  expect((await read('view=dynamic&address=true')).location).toMatchObject(named);
  expect(await read('address=true')).toMatchObject({ location: named, position: named });
  expect((await read('view=fleet&address=true')).position).toMatchObject(named);
  expect(JSON.stringify(await read(''))).not.toContain('Depot');
});

it('adds a column of addresses to the CSV of vehicles on request', async () => {
  await createDepot();
  await storeLatest(platform.db, vehicle.id, '2025-03-01', { location: depot });
  const read = async (query: string) => {
    const response = await fetch(`${platform.httpUrl}/v1/x/vehicles?format=csv&${query}`, {
      headers: { 'x-service-token': application.token },
    });
    return (await response.text()).trim().split('\r\n');
  };
  expect(await read('columns=longitude,address')).toEqual(['longitude,address', '9.52,Depot']);
  const [heading, row] = await read('address=true');
  expect([heading?.endsWith(',address'), row?.endsWith(',Depot')]).toEqual([true, true]);
  expect((await read(''))[0]).not.toContain('address');
});

it('adds columns of addresses to the export of trips on request', async () => {
  await createDepot();
  await storeTrip(platform.db, vehicle.id, {
    ...{ started_at: '2025-03-01T08:00:00Z', ended_at: '2025-03-01T09:00:00Z', distance_km: 9 },
    ...{ first_latitude: depot.latitude, first_longitude: depot.longitude, last_latitude: 48, last_longitude: 9 },
  });
  const read = async (query: string) => {
    const path = `/v1/x/vehicles/export?of=trips&format=ndjson&from=2025-03-01&until=2025-03-02&${query}`;
    const response = await fetch(`${platform.httpUrl}${path}`, { headers: { 'x-service-token': application.token } });
    return JSON.parse(await response.text());
  };
  const named = await read('address=true');
  expect(named).toMatchObject({ first_address: 'Depot', last_latitude: 48 });
  expect(named).not.toHaveProperty('last_address');
  expect(await read('')).not.toHaveProperty('first_address');
  const refused = await client.get('/v1/x/vehicles/export?format=csv&from=1&until=2&address=true');
  expect([refused.status, refused.body.field]).toEqual([400, 'address']);
});

it('omits addresses while location privacy is on', async () => {
  await createDepot();
  await storeLatest(platform.db, vehicle.id, '2025-03-01', { location: depot });
  await turnPrivacyOn(platform.db, vehicle.id);
  const { body } = await client.get('/v1/x/vehicles?address=true');
  const status = await client.get(`/v1/vehicle/${vehicle.id}/status?address=true`);
  expect(JSON.stringify([body, status.body])).not.toContain('Depot');
});
