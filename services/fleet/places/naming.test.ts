import type { ServerResponse } from 'node:http';
import { Addresses } from '@odograph/database/addresses';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createUnlinkedVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { requestUpstream } from '../common/upstream.ts';
import { sendJson, startUpstream, startWith, streets } from './places.fixture.ts';

let place = 0;
/** Creates a position that no other test uses. */
const newPosition = () => {
  place += 1;
  return { latitude: 40 + place / 100 + process.pid / 1e6, longitude: 7 };
};

/** Starts a fake geocoder and a platform that uses it. */
async function startGeocoding(
  kind: string,
  answer: (url: URL, response: ServerResponse) => void,
  requestsPerSecond = 50,
) {
  const { url, requestPaths } = await startUpstream(answer);
  const { platform, redis } = await startWith({
    GEOCODER_URL: `${url}/geo`,
    GEOCODER_KIND: kind,
    GEOCODER_REQUESTS_PER_SECOND: String(requestsPerSecond),
  });
  const application = await createApplication(platform.db);
  const vehicleId = await createUnlinkedVehicle(platform.db, application);
  const addresses = new Addresses(redis, platform.config);
  const find = async (position: { latitude: number; longitude: number }, of = vehicleId, waitMs = 0) =>
    (await addresses.find(platform.db, [{ vehicleId: of, ...position }], waitMs))[0];
  return { ...{ platform, application, vehicleId, requestPaths, find } };
}

const feature = (properties: object) => ({ type: 'FeatureCollection', features: [{ type: 'Feature', properties }] });
const photon = {
  ...{ osm_id: 1, country: 'France', city: 'Paris', postcode: '75001', street: 'Rue de Rivoli', housenumber: '12' },
};

it.each([
  [
    'photon',
    feature(photon),
    'Rue de Rivoli 12, 75001 Paris, France',
    /^\/geo\/reverse\?lat=4\d\.\d{4}&lon=7\.0000&limit=1$/,
  ],
  [
    'nominatim',
    { place_id: 1, display_name: '12, Rue de Rivoli,\n Paris', address: { road: 'Rue de Rivoli' } },
    '12, Rue de Rivoli, Paris',
    /^\/geo\/reverse\?lat=4\d\.\d{4}&lon=7\.0000&format=jsonv2$/,
  ],
  [
    'pelias',
    feature({ label: '12 Rue de Rivoli, Paris, France', layer: 'address' }),
    '12 Rue de Rivoli, Paris, France',
    /^\/geo\/v1\/reverse\?point\.lat=4\d\.\d{4}&point\.lon=7\.0000&size=1$/,
  ],
] as const)('asks %s in its own wire format, once for a place', async (kind, body, expected, path) => {
  const { find, requestPaths } = await startGeocoding(kind, (_url, response) => sendJson(response, body));
  const position = newPosition();
  expect(await find(position)).toBeUndefined();
  await eventually(async () => expect(await find(position)).toBe(expected));
  expect(await find({ ...position, longitude: position.longitude + 1e-6 })).toBe(expected);
  expect(requestPaths).toEqual([expect.stringMatching(path)]);
});

it('prefers the parking spots and geofences of the application, without a request to the geocoder', async () => {
  const { find, requestPaths, platform, application } = await startGeocoding('photon', (_url, response) =>
    sendJson(response, feature(photon)),
  );
  const [spot, depot, foreign] = [newPosition(), newPosition(), newPosition()];
  const other = await createApplication(platform.db);
  const api = platform.as(application.token);
  await sql`insert into parking (application_id, short_id, name, address, zipcode, city, country, latitude, longitude)
    values (${application.id}, 'P1', 'Spot 1', '', '', '', '', ${spot.latitude}, ${spot.longitude})`.execute(
    platform.db,
  );
  for (const [owner, { latitude, longitude }] of [
    [api, depot],
    [platform.as(other.token), foreign],
  ] as const) {
    const geometry = { type: 'Point', coordinates: [longitude, latitude] };
    await owner.post('/v1/x/geofences', { name: 'Depot', geometry, radiusMetres: 300 });
  }
  expect(await find({ ...spot, latitude: spot.latitude + 0.0003 })).toBe('Spot 1');
  expect(await find({ ...depot, latitude: depot.latitude + 0.002 })).toBe('Depot');
  expect(requestPaths).toEqual([]);
  expect(await find(foreign)).toBeUndefined();
});

it('does not share addresses between applications, which would reveal where their vehicles have been', async () => {
  const { find, requestPaths, platform } = await startGeocoding('nominatim', (_url, response) =>
    sendJson(response, { display_name: 'Here' }),
  );
  const position = newPosition();
  await find(position);
  await eventually(async () => expect(await find(position)).toBe('Here'));
  const other = await createUnlinkedVehicle(platform.db, await createApplication(platform.db));
  expect(await find(position, other)).toBeUndefined();
  await eventually(async () => expect(await find(position, other)).toBe('Here'));
  expect(requestPaths).toHaveLength(2);
});

it('limits the wait for a missing address', async () => {
  const held: ServerResponse[] = [];
  const { find, vehicleId } = await startGeocoding('nominatim', (_url, response) => {
    held.push(response);
  });
  const position = newPosition();
  expect(await find(position, vehicleId, 300)).toBeUndefined();
  const found = find(position, vehicleId, 10_000);
  await eventually(async () => expect(held).toHaveLength(1));
  for (const response of held) sendJson(response, { display_name: 'Here' });
  expect(await found).toBe('Here');
});

it('stores an address as one short line of text, and caches that there is none', async () => {
  const long = `\u202eA\u0000\n<b>${'x'.repeat(500)}`;
  const unknown = newPosition();
  const { find, requestPaths } = await startGeocoding('nominatim', (url, response) =>
    sendJson(
      response,
      url.searchParams.get('lat') === unknown.latitude.toFixed(4)
        ? { error: 'Unable to geocode' }
        : { display_name: long },
    ),
  );
  const known = newPosition();
  await find(known);
  await eventually(async () => expect(await find(known)).toBe(`A <b>${'x'.repeat(195)}`));
  await find(unknown);
  await eventually(async () => expect(requestPaths).toHaveLength(2));
  const further = newPosition();
  await eventually(async () => expect(await find(further)).toBeDefined());
  expect(await find(unknown)).toBeUndefined();
  const last = newPosition();
  await eventually(async () => expect(await find(last)).toBeDefined());
  expect(requestPaths).toHaveLength(4);
});

it('omits addresses and counts failures while the geocoder fails, and recovers', async () => {
  let isBack = false;
  const faults = [
    (response: ServerResponse) => response.writeHead(500).end(),
    (response: ServerResponse) => response.end('{"display_name": "cut'),
    (response: ServerResponse) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    (response: ServerResponse) => response.end(JSON.stringify({ display_name: 'x'.repeat(100_000) })),
  ];
  let turn = 0;
  const { find, platform } = await startGeocoding('nominatim', (_url, response) => {
    if (isBack) return sendJson(response, { display_name: 'Here' });
    faults[turn % faults.length]?.(response);
    turn += 1;
  });
  const position = newPosition();
  await eventually(async () => {
    expect(await find(position)).toBeUndefined();
    expect(turn).toBeGreaterThanOrEqual(faults.length);
  });
  const metric = await platform.metrics.getSingleMetric('odograph_fleet_geocoder_failures_total')?.get();
  expect(metric?.values[0]?.value).toBeGreaterThanOrEqual(faults.length - 1);
  isBack = true;
  await eventually(async () => expect(await find(position)).toBe('Here'));
});

it('quotes no answer of the geocoder in errors, which are logged', async () => {
  const { url } = await startUpstream((_url, response) => response.end('12 Home Street'));
  const asked = requestUpstream({ url, path: 'reverse', maxAnswerBytes: 100 });
  await expect(asked).rejects.toThrow(/^the response is not JSON$/);
});

it('does not exceed the configured rate', async () => {
  const times: number[] = [];
  const { find } = await startGeocoding(
    'nominatim',
    (_url, response) => {
      times.push(performance.now());
      sendJson(response, { display_name: 'Here' });
    },
    4,
  );
  for (let count = 0; count < 4; count += 1) await find(newPosition());
  await eventually(async () => expect(times).toHaveLength(4));
  expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(650);
});

it('names places from the map file without a geocoder, and replaces these names once there is one', async () => {
  const vaduz = { latitude: 47.14014, longitude: 9.52143 };
  const { platform, redis, stop } = await startWith({ MAP_TILES: streets });
  const application = await createApplication(platform.db);
  const vehicleId = await createUnlinkedVehicle(platform.db, application);
  const addresses = new Addresses(redis, platform.config);
  expect(await addresses.find(platform.db, [{ vehicleId, ...vaduz }], 10_000)).toEqual(['Äulestrasse, Vaduz']);
  await stop();

  const { requestPaths, find } = await startGeocoding('nominatim', (_url, response) =>
    sendJson(response, { display_name: 'Here' }),
  );
  expect(await find(vaduz, vehicleId)).toBe('Äulestrasse, Vaduz');
  await eventually(async () => expect(await find(vaduz, vehicleId)).toBe('Here'));
  expect(requestPaths).toHaveLength(1);
});
