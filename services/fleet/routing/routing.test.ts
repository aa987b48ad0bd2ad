import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import type { TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { sendJson, startUpstream, startWith } from '../places/places.fixture.ts';

// The route object of https://project-osrm.org/docs and the first request of its section "Route service".
const osrmRoute = {
  ...{ distance: 90, duration: 300, weight: 300, weight_name: 'duration', legs: [] },
  geometry: { type: 'LineString', coordinates: [120, 120.1, 120.2, 120.3].map((longitude) => [longitude, 10]) },
};
const osrmMatch = { code: 'Ok', tracepoints: [], matchings: [{ ...osrmRoute, confidence: 0.9 }] };

/** `trip` as in https://valhalla.github.io/valhalla/api/turn-by-turn, "Outputs of a route". */
const valhallaTrip = {
  trip: {
    ...{ language: 'en-US', status: 0, status_message: 'Found route between points', units: 'kilometers' },
    // The points (38.5, -120.2), (40.7, -120.95) and (43.252, -126.453), with six decimals.
    legs: [{ summary: { time: 300, length: 0.09 }, shape: '_izlhA~rlgdF_{geC~ywl@_kwzCn`{nI' }],
    summary: { time: 300, length: 0.09 },
  },
};

async function startRouting(kind: 'osrm' | 'valhalla', answer: () => unknown) {
  const bodies: unknown[] = [];
  const { url, requestPaths } = await startUpstream((_url, response, body) => {
    if (body !== '') bodies.push(JSON.parse(body));
    const answered = answer();
    if (typeof answered === 'number') response.writeHead(answered).end('{"code":"NoMatch"}');
    else sendJson(response, answered);
  });
  const { platform } = await startWith({
    ...{ ROUTER_URL: url, ROUTER_KIND: kind, ROUTER_REQUESTS_PER_SECOND: '50' },
  });
  const application = await createApplication(platform.db);
  const client = platform.as(application.token);
  const vehicle = await createVehicle(platform.db, application);
  const snap = async (tripId: string) => {
    const { status, body } = await client.get(`/v1/x/vehicle/${vehicle.id}/trips/${tripId}/snapped`);
    return { status, body };
  };
  return { ...{ platform, application, client, vehicle, snap, requestPaths, bodies } };
}

const start = Date.parse('2025-03-01T08:00:00Z') / 1000;

/** Stores a trip whose positions are at these seconds after its start. */
async function storeDrive({ db }: TestPlatform, vehicle: TestVehicle, seconds: readonly number[]): Promise<string> {
  await sql`insert into reading (time, application_id, vehicle_id, latitude, longitude, device_id, received_at)
    select to_timestamp(${start}::float8 + second), application_id, vehicle.id, 10 + second / 1e5, 120 + second / 1e5, '', now()
    from vehicle, unnest(${[...seconds]}::integer[]) as second where vehicle.id = ${Number(vehicle.id)}`.execute(db);
  const { rows } = await sql<{ id: string }>`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled,
      inferred, distance_km) values (${Number(vehicle.id)}, to_timestamp(${start}), to_timestamp(${start + 3600}), now(),
      true, false, 10) returning id`.execute(db);
  return rows[0]?.id ?? '';
}

const times = [start, start + 60, start + 120];
const places = '120.000000,10.000000;120.000600,10.000600;120.001200,10.001200';

describe('a trip', () => {
  it.each([
    {
      ...({ kind: 'osrm', answer: osrmMatch, line: osrmRoute.geometry.coordinates } as const),
      path: `/match/v1/driving/${places}?geometries=geojson&overview=full&gaps=ignore&tidy=true&timestamps=${times.join('%3B')}`,
      sent: [],
    },
    {
      ...({ kind: 'valhalla', answer: valhallaTrip } as const),
      line: [
        [-120.2, 38.5],
        [-120.95, 40.7],
        [-126.453, 43.252],
      ],
      path: '/trace_route',
      sent: [
        {
          ...{ costing: 'auto', shape_match: 'map_snap', directions_type: 'none' },
          shape: times.map((time, index) => ({ lat: 10 + index * 0.0006, lon: 120 + index * 0.0006, time })),
        },
      ],
    },
  ])('is snapped to roads by $kind in its own wire format, and cached', async (one) => {
    const { platform, vehicle, snap, requestPaths, bodies } = await startRouting(one.kind, () => one.answer);
    const tripId = await storeDrive(platform, vehicle, [0, 60, 120]);
    const feature = {
      type: 'Feature',
      geometry: { type: 'MultiLineString', coordinates: [one.line] },
      properties: { trip_id: tripId, snapped: true, distance: 0.09 },
    };
    expect(await snap(tripId)).toEqual({ status: 200, body: feature });
    expect(await snap(tripId)).toEqual({ status: 200, body: feature });
    expect(requestPaths).toEqual([one.path]);
    expect(bodies).toEqual(one.sent);
  });

  it('is split at time gaps and privacy intervals, whose positions are not sent', async () => {
    const { platform, vehicle, snap, bodies } = await startRouting('valhalla', () => valhallaTrip);
    const tripId = await storeDrive(platform, vehicle, [0, 60, 70, 80, 90, 100, 160, 500, 560, 900]);
    await sql`insert into privacy_period (vehicle_id, period)
      values (${Number(vehicle.id)}, tstzrange(to_timestamp(${start + 65}), to_timestamp(${start + 95})))`.execute(
      platform.db,
    );
    expect((await snap(tripId)).status).toBe(200);
    const shapeAt = (...seconds: number[]) => ({
      shape: seconds.map((second) => expect.objectContaining({ time: start + second })),
    });
    expect(bodies).toMatchObject([shapeAt(0, 60), shapeAt(100, 160), shapeAt(500, 560)]);
  });

  it.each([
    ['osrm', osrmMatch],
    ['valhalla', valhallaTrip],
  ] as const)('is thinned to 300 positions, and snapped by %s in requests of at most 100', async (kind, answer) => {
    const { platform, vehicle, snap, requestPaths, bodies } = await startRouting(kind, () => answer);
    const tripId = await storeDrive(
      platform,
      vehicle,
      Array.from({ length: 900 }, (_, index) => index),
    );
    expect((await snap(tripId)).body.geometry.coordinates).toHaveLength(4);
    const counts =
      kind === 'osrm'
        ? requestPaths.map((path) => path.split('?')[0]?.split(';').length)
        : bodies.map((body) => Object(body).shape.length);
    expect(counts).toEqual([100, 100, 100, 4]);
  });

  it('with many gaps is snapped in its 10 longest parts', async () => {
    const { platform, vehicle, snap, bodies } = await startRouting('valhalla', () => valhallaTrip);
    const parts = Array.from({ length: 12 }, (_, index) => [index * 200, index * 200 + 1]).flat();
    const tripId = await storeDrive(platform, vehicle, [...parts, 2400, 2401, 2402]);
    expect((await snap(tripId)).status).toBe(200);
    expect(bodies).toHaveLength(10);
    expect(Object(bodies[0]).shape).toHaveLength(3);
  });

  it('is refused without roads, positions or a router, and for another application', async () => {
    const { platform, vehicle, snap, client } = await startRouting('osrm', () => 400);
    expect(await snap(await storeDrive(platform, vehicle, [0, 60]))).toMatchObject({
      ...{ status: 404, body: { error: 'NO_DATA', message: 'the router found no road along the trip' } },
    });
    expect(
      await snap(
        await storeDrive(platform, await createVehicle(platform.db, await createApplication(platform.db)), [0]),
      ),
    ).toMatchObject({
      ...{ status: 404, body: { error: 'NOT_FOUND' } },
    });
    expect((await client.get('/v1/x/vehicle/1/trips/x/snapped')).body.error).toBe('UNKNOWN_VEHICLE');
    const broken = await startRouting('valhalla', () => ({ trip: { legs: [{ shape: '_' }], summary: { length: 1 } } }));
    expect((await broken.snap(await storeDrive(broken.platform, broken.vehicle, [0, 60]))).status).toBe(503);
    const { platform: plain } = await startWith({});
    const application = await createApplication(plain.db);
    const own = await createVehicle(plain.db, application);
    const path = `/v1/x/vehicle/${own.id}/trips/${await storeDrive(plain, own, [0, 60])}/snapped`;
    expect((await plain.as(application.token).get(path)).body).toMatchObject({ error: 'NO_DATA' });
  });
});

describe('the page of a share with a place', () => {
  async function share({ platform, client, vehicle }: Awaited<ReturnType<typeof startRouting>>, more: object = {}) {
    await sql`insert into vehicle_latest (vehicle_id, time, location, location_time, received_at)
      values (${Number(vehicle.id)}, now(), '{"latitude": 48.85661, "longitude": 2.35222}', now(), now())`.execute(
      platform.db,
    );
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const place = { latitude: 49, longitude: 2.5, radiusMetres: 100 };
    const { body } = await client.post('/v1/x/shares', { vehicleId: vehicle.id, until, place, ...more });
    const token = String(body.url).split('#')[1] ?? '';
    return async () => {
      const response = await fetch(`${platform.httpUrl}/v1/x/shared`, { headers: { 'x-share-token': token } });
      return (await response.json()) as { arrivalAt?: string; position?: object; isPrivate: boolean };
    };
  }

  it.each([
    {
      ...({ kind: 'osrm', answer: { code: 'Ok', routes: [osrmRoute], waypoints: [] } } as const),
      path: '/route/v1/driving/2.352220,48.856610;2.500000,49.000000?overview=false',
      sent: [],
    },
    {
      ...({ kind: 'valhalla', answer: valhallaTrip, path: '/route' } as const),
      sent: [
        {
          ...{ costing: 'auto', directions_type: 'none' },
          locations: [
            { lat: 48.85661, lon: 2.35222 },
            { lat: 49, lon: 2.5 },
          ],
        },
      ],
    },
  ])('shows the arrival estimated by $kind, requested at most once a minute', async ({ kind, answer, path, sent }) => {
    const routing = await startRouting(kind, () => answer);
    const read = await share(routing);
    await eventually(async () => expect((await read()).arrivalAt).toBeDefined());
    const { arrivalAt = '' } = await read();
    expect((Date.parse(arrivalAt) - Date.now()) / 1000).toBeCloseTo(300, -1);
    expect(routing.requestPaths).toEqual([path]);
    expect(routing.bodies).toEqual(sent);
  });

  it('estimates from the rounded position that it shows, and not during location privacy', async () => {
    const routing = await startRouting('osrm', () => ({ code: 'Ok', routes: [osrmRoute] }));
    const read = await share(routing, { gridMetres: 5000 });
    await eventually(async () => expect((await read()).arrivalAt).toBeDefined());
    expect(routing.requestPaths[0]).not.toMatch(/48\.8566|2\.3522/);
    await routing.client.post('/v1/vehicle/privacy/on', { vehicleId: routing.vehicle.id });
    const hidden = await read();
    expect([hidden.isPrivate, hidden.position, hidden.arrivalAt]).toEqual([true, undefined, undefined]);
  });

  it('shows no arrival while the router fails, and counts the failure', async () => {
    const routing = await startRouting('osrm', () => 500);
    const read = await share(routing);
    expect((await read()).position).toBeDefined();
    const counter = routing.platform.metrics.getSingleMetric('odograph_fleet_router_failures_total');
    const failure = expect.objectContaining({ labels: { task: 'arrival' }, value: 1 });
    await eventually(async () => expect((await counter?.get())?.values).toEqual([failure]));
    expect(routing.requestPaths).toHaveLength(1);
    expect((await read()).arrivalAt).toBeUndefined();
  });
});
