import { createApplication, createUser } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { sendJson, startUpstream, startWith, streets } from './places.fixture.ts';

async function startSearch(environment: Record<string, string> = {}) {
  const { platform } = await startWith(environment);
  const application = await createApplication(platform.db);
  const client = platform.as(application.token);
  const search = async (query: string) => {
    const { status, body } = await client.get(`/v1/x/places?${query}`);
    return { status, ...body };
  };
  return { platform, application, client, search };
}

it('finds parking spots and geofences of the application by a part of their name, ignoring case', async () => {
  const { platform, application, client, search } = await startSearch();
  await sql`insert into parking (application_id, short_id, name, address, zipcode, city, country, latitude, longitude)
    values (${application.id}, 'P1', 'North depot', '', '', '', '', 48.5, 2.5)`.execute(platform.db);
  const ring = [
    [179, 10],
    [-179, 10],
    [-179, 12],
    [179, 12],
    [179, 10],
  ];
  const geometries = [
    { geometry: { type: 'Point', coordinates: [9, 47] }, radiusMetres: 100, name: 'Depot' },
    { geometry: { type: 'Polygon', coordinates: [ring] }, name: 'Depot at the antimeridian' },
    { geometry: { type: 'Point', coordinates: [9, 47] }, radiusMetres: 100, name: 'Customer' },
  ];
  for (const fields of geometries) await client.post('/v1/x/geofences', fields);
  const found = [
    { kind: 'geofence', name: 'Depot', latitude: 47, longitude: 9 },
    { kind: 'geofence', name: 'Depot at the antimeridian', latitude: 11, longitude: 180 },
    { kind: 'parking', name: 'North depot', latitude: 48.5, longitude: 2.5 },
  ];
  expect(await search('q=DEPOT')).toEqual({ status: 200, places: found, source: 'none' });
  expect((await search('q=%25')).places).toEqual([]);
  expect(await search('q=Depot&address=true')).toEqual({ status: 200, places: [], source: 'none' });
  expect((await search('q=')).status).toBe(400);
  expect(await search('q=%20')).toMatchObject({ status: 400, error: 'INVALID_PARAMETER', field: 'q' });
  const others = [(await createApplication(platform.db)).token, (await createUser(platform.db, application)).token];
  for (const token of others) expect((await platform.as(token).get('/v1/x/places?q=depot')).body.places).toEqual([]);
});

const berlin = { type: 'Point', coordinates: [13.438596, 52.519854] };
it.each([
  [
    'photon',
    '/api?q=berlin&limit=5',
    // https://github.com/komoot/photon, "Results"
    {
      type: 'FeatureCollection',
      features: [
        {
          properties: {
            ...{ name: 'Berlin', state: 'Berlin', country: 'Germany', countrycode: 'DE' },
            ...{ osm_key: 'place', osm_value: 'city', osm_type: 'N', osm_id: 240_109_189 },
          },
          ...{ type: 'Feature', geometry: berlin },
        },
        { type: 'Feature', geometry: { type: 'Point', coordinates: ['x', 91] }, properties: { name: 'nowhere' } },
      ],
    },
    'Berlin, Germany',
  ],
  [
    'nominatim',
    '/search?q=berlin&format=jsonv2&limit=5',
    // https://nominatim.org/release-docs/latest/api/Output
    [{ place_id: 1, lat: '52.519854', lon: '13.438596', category: 'boundary', display_name: 'Berlin, Deutschland' }],
    'Berlin, Deutschland',
  ],
  [
    'pelias',
    '/v1/search?text=berlin&size=5',
    // https://github.com/pelias/documentation, "Search"
    { features: [{ type: 'Feature', geometry: berlin, properties: { layer: 'region', label: 'Berlin, Germany' } }] },
    'Berlin, Germany',
  ],
] as const)('searches %s in its own wire format, and only on request', async (kind, path, answer, name) => {
  const { url, requestPaths } = await startUpstream((_url, response) => sendJson(response, answer));
  const { search } = await startSearch({ GEOCODER_URL: url, GEOCODER_KIND: kind });
  expect(await search('q=berlin')).toMatchObject({ places: [], source: 'geocoder' });
  expect(requestPaths).toEqual([]);
  const place = { kind: 'address', name, latitude: 52.519854, longitude: 13.438596 };
  expect(await search('q=%20berlin&address=true')).toEqual({ status: 200, places: [place], source: 'geocoder' });
  expect(requestPaths).toEqual([path]);
});

it('searches the towns of the map file without a geocoder', async () => {
  const { search } = await startSearch({ MAP_TILES: streets });
  const { places, source } = await search('q=vaduz&address=true');
  expect([source, places[0].kind, places[0].name]).toEqual(['map', 'address', 'Vaduz']);
});

it('answers 503 while the geocoder fails, and 429 beyond its rate limit', async () => {
  const { url } = await startUpstream((_url, response) => response.writeHead(500).end());
  const { search } = await startSearch({ GEOCODER_URL: url });
  const answers = await Promise.all(Array.from({ length: 8 }, () => search('q=x&address=true')));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503, 429]));
});
