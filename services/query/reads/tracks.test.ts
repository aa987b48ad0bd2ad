import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { storeReadings } from '../query.fixture.ts';
import { queryService } from '../service.ts';
import { storeTrip } from './trips.fixture.ts';

const time = (seconds: number) => new Date(Date.UTC(2025, 2, 1, 8, 0, seconds)).toISOString();

const platform = await usePlatform([queryService]);
const application = await createApplication(platform.db);
const client = platform.as(application.token);
const vehicle = await createVehicle(platform.db, application);
const tripId = await storeTrip(platform.db, vehicle.id, {
  started_at: time(0),
  ended_at: time(30),
  distance_km: 0.8,
  inferred: true,
});
const at = (seconds: number, position: object) => ({ time: time(seconds), vehicle_id: vehicle.id, ...position });
await storeReadings(platform.db, application.id, [
  at(-10, { latitude: 47, longitude: 2 }),
  at(0, { latitude: 48, longitude: 2, altitude: 35 }),
  at(10, { mileage: 1 }),
  at(20, { latitude: 48.5, longitude: 0.0000001 }),
  at(30, { latitude: 49, longitude: 2 }),
  at(40, { latitude: 50, longitude: 2 }),
]);

const path = (query = '', id = tripId) => `/v1/x/vehicle/${vehicle.id}/trips/${id}/track${query}`;
const get = (accept: string, url = path()) =>
  fetch(new URL(url, platform.httpUrl), { headers: { 'x-service-token': application.token, accept } });

describe('GET /v1/x/vehicle/{id}/trips/{tripId}/track', () => {
  it('is a GeoJSON line with the time of each position, without private positions', async () => {
    const { status, headers, body } = await client.get(path());
    expect([status, headers.get('content-type')]).toEqual([200, 'application/geo+json']);
    expect(body).toEqual({
      type: 'Feature',
      geometry: {
        type: 'LineString',
        coordinates: [
          [2, 48, 35],
          [0.0000001, 48.5],
          [2, 49],
        ],
      },
      properties: {
        trip_id: tripId,
        timestamp: time(0),
        until: time(30),
        distance: 0.8,
        inferred: true,
        coordTimes: [time(0), time(20), time(30)],
      },
    });
  });

  it('is GPX 1.1 on request by parameter or Accept', async () => {
    for (const answer of [await get('*/*', path('?format=gpx')), await get('application/gpx+xml')]) {
      expect(answer.headers.get('content-type')).toBe('application/gpx+xml');
      const text = await answer.text();
      expect(text).toContain('<gpx version="1.1" creator="Odograph" xmlns="http://www.topografix.com/GPX/1/1">');
      const points = [...text.matchAll(/<trkpt lat="([\d.]+)" lon="([\d.]+)">(?:<ele>35<\/ele>)?<time>(.+?)<\/time>/g)];
      expect(points.map(([, latitude, longitude, at]) => [latitude, longitude, at])).toEqual([
        ['48', '2', time(0)],
        ['48.5', '0.000000100000', time(20)],
        ['49', '2', time(30)],
      ]);
    }
    expect((await get('application/gpx+xml', path('?format=geojson'))).headers.get('content-type')).toContain(
      'geo+json',
    );
  });

  it('has no geometry when every position was private', async () => {
    const id = await storeTrip(platform.db, vehicle.id, { started_at: time(5), ended_at: time(15), distance_km: 1 });
    const { body } = await client.get(path('', id));
    expect([body.geometry, body.properties.coordTimes]).toEqual([null, []]);
  });

  it('is complete at any length', async () => {
    const long = await createVehicle(platform.db, application);
    await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, device_id, received_at)
      select ${time(0)}::timestamptz + n * interval '1 second', ${application.id}, ${long.id}::integer, 48, n / 1000.0,
        'test', now() from generate_series(0, 5000) as n`.execute(platform.db);
    const id = await storeTrip(platform.db, long.id, { started_at: time(0), ended_at: time(5000), distance_km: 1 });
    const { body } = await client.get(`/v1/x/vehicle/${long.id}/trips/${id}/track`);
    const longitudes = body.geometry.coordinates.map(([longitude]: [number]) => longitude);
    expect(longitudes).toEqual(Array.from({ length: 5001 }, (_unused, index) => index / 1000));
  });

  it('is NOT_FOUND for a trip of another vehicle, one under way and an unknown one', async () => {
    const other = await createVehicle(platform.db, application);
    const future = { ends_known_at: new Date(Date.now() + 60_000).toISOString() };
    const span = { started_at: time(0), ended_at: time(30), distance_km: 1 };
    const foreign = await storeTrip(platform.db, other.id, span);
    const underWay = await storeTrip(platform.db, vehicle.id, { ...span, ...future });
    for (const id of [foreign, underWay, '00000000-0000-0000-0000-000000000000', 'x']) {
      const { status, body } = await client.get(path('', id));
      expect([status, body.error]).toEqual([404, 'NOT_FOUND']);
    }
  });

  it('refuses an unknown format', async () => {
    const { status, body } = await client.get(path('?format=kml'));
    expect([status, body.field]).toEqual([400, 'format']);
  });
});
