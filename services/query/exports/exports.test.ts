import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createToken, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { sql } from 'kysely';
import { SaxesParser } from 'saxes';
import { describe, expect, it } from 'vitest';
import { createUser, storeReadings } from '../query.fixture.ts';
import { queryService } from '../service.ts';

// The smallest buffer of answers: a part of an export holds 256 KiB, so the series below spans several.

const start = Date.parse('2025-11-21T08:00:00Z') / 1000;
const seconds = 3000;
const interval = 'from=2025-11-21T08:00:00Z&until=2025-11-22T00:00:00Z';

/** Stores a reading every second, with a pause of ten minutes in the middle and one reading to the microsecond. */
async function storeDrive(vehicleId: string): Promise<void> {
  await sql`insert into reading (time, application_id, vehicle_id, latitude_e7, longitude_e7, altitude, angle, speed, satellites,
      ignition, movement, mileage_metres, soc, can, device_id, received_at)
    select to_timestamp(${start} + n + case when n >= ${seconds / 2} then 600 else 0 end) + case when n = 1 then interval '1 microsecond' else interval '0' end,
      ${application.id}, ${vehicleId}::integer, 488566000 + n * 100, n * 100, 35, -90, 36, 9, true, n % 2 = 0, n * 100, null,
      jsonb_build_array(jsonb_build_object('key', 'note', 'value', case n when 2 then '=1+1' when 3 then 'a "b", c' else '-' || n end)),
      'test', now()
    from generate_series(0, ${seconds}::integer - 1) as n`.execute(platform.db);
}

const platform = await usePlatform([queryService], {}, { maxAnswerBytes: 1024 ** 2 });
const application = await createApplication(platform.db);
const client = platform.as(application.token);
const vehicle = await createVehicle(platform.db, application);
const otherVehicle = await createVehicle(platform.db, application);
await storeDrive(vehicle.id);
// In a privacy interval, readings have no position; and one has a longitude that GPX does not allow.
await storeReadings(platform.db, application.id, [
  { time: '2025-11-21T09:00:00Z', vehicle_id: otherVehicle.id, mileage: 5 },
  { time: '2025-11-21T09:00:01.5Z', vehicle_id: otherVehicle.id, latitude: 0.0000001, longitude: 180 },
]);
await sql`insert into vehicle_latest (vehicle_id, earliest_time, time, received_at)
  select vehicle_id, min(time), max(time), now() from reading
  where application_id = ${application.id} group by vehicle_id`.execute(platform.db);

async function download(search: string, path = '/v1/x/vehicles/export', token = application.token) {
  const response = await fetch(new URL(`${path}?${search}`, platform.httpUrl), {
    headers: { 'x-service-token': token },
  });
  const bytes = await response.arrayBuffer();
  return { status: response.status, headers: response.headers, bytes, text: Buffer.from(bytes).toString() };
}
const ofVehicle = (id: string) => `/v1/x/vehicle/${id}/export`;
const linesOf = (text: string) => text.split('\r\n').slice(0, -1);

/** Every reading of the change feed's form, by the history that clients read in pages. */
async function readHistory(vehicleId: string): Promise<{ timestamp: number }[]> {
  const { body } = await client.get(`/v1/vehicle/${vehicleId}/history?${interval}&limit=10000`);
  return body.status;
}

describe('an export of readings', () => {
  it('has every reading once as CSV, vehicle by vehicle in the order of time, in parts and compressed too', async () => {
    const before = await download(`format=csv&${interval}`);
    await compressReadings(platform.db, start, start + 86_400);
    const { text, headers } = await download(`format=csv&${interval}`);
    expect(text).toBe(before.text);
    const lines = linesOf(text);
    expect(lines).toHaveLength(1 + seconds + 2);
    expect(text.length).toBeGreaterThan(256 * 1024);
    expect(lines[0]).toMatch(/^vehicle,time,latitude,longitude,speed,altitude,angle,/);
    expect(lines[1]).toMatch(`${vehicle.id},2025-11-21T08:00:00.000Z,48.8566,0,36,35,-90,9,true,true,0,`);
    expect(lines[2]).toMatch(`${vehicle.id},2025-11-21T08:00:01.000001Z,`);
    const keys = lines.slice(1).map((line) => line.split(',', 2).join(' '));
    expect(keys).toEqual([...new Set(keys)].sort());
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="vehicles-readings-2025-11-21-2025-11-22.csv"',
    );
  });

  it('quotes CSV, and hides formulas but not numbers from spreadsheets', async () => {
    const { text } = await download(`format=csv&fields=can.note,can,soc,device&${interval}`, ofVehicle(vehicle.id));
    const lines = linesOf(text);
    expect(lines[0]).toBe('vehicle,time,can.note,can,soc,device');
    expect(lines.slice(1, 5).map((line) => line.replace(/^\d+,[^,]+,/, ''))).toEqual([
      '-0,"[{""key"": ""note"", ""value"": ""-0""}]",,test',
      '-1,"[{""key"": ""note"", ""value"": ""-1""}]",,test',
      `'=1+1,"[{""key"": ""note"", ""value"": ""=1+1""}]",,test`,
      '"a ""b"", c","[{""key"": ""note"", ""value"": ""a \\""b\\"", c""}]",,test',
    ]);
  });

  it('has the bodies of the change feed as NDJSON', async () => {
    const { text } = await download(`format=ndjson&${interval}`, ofVehicle(vehicle.id));
    const readings = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const history = await readHistory(vehicle.id);
    expect(readings).toHaveLength(history.length);
    // Comparing the texts takes a hundredth of the time.
    expect(JSON.stringify(readings.map(({ can: _can, ...reading }) => reading))).toBe(JSON.stringify(history));
    expect(readings[2].can).toEqual([{ key: 'note', value: '=1+1' }]);
  });

  it('has typed columns as Parquet, in several row groups', async () => {
    const fields = 'latitude,speed,ignition,soc,can.note';
    const { bytes, headers } = await download(`format=parquet&fields=${fields}&${interval}`);
    expect(headers.get('content-type')).toBe('application/vnd.apache.parquet');
    const metadata = await parquetMetadataAsync(bytes);
    expect(metadata.row_groups.length).toBeGreaterThan(1);
    expect(metadata.schema.slice(1).map(({ name, type }) => `${name} ${type}`)).toEqual([
      ...['vehicle BYTE_ARRAY', 'time INT64', 'latitude DOUBLE', 'speed DOUBLE', 'ignition BOOLEAN', 'soc DOUBLE'],
      'can.note BYTE_ARRAY',
    ]);
    const rows = await parquetReadObjects({ file: bytes });
    expect(rows).toHaveLength(seconds + 2);
    expect(rows[2]).toEqual({
      ...{ vehicle: vehicle.id, time: new Date('2025-11-21T08:00:02.000Z'), latitude: 48.85662, speed: 36 },
      ...{ ignition: true, soc: null, 'can.note': '=1+1' },
    });
    expect(rows.at(-2)).toMatchObject({ vehicle: otherVehicle.id, latitude: null, ignition: null });
  });

  it('has a point for each position as GeoJSON, and none for a reading without one', async () => {
    const { text } = await download(`format=geojson&fields=speed,can&${interval}`);
    const { type, features } = JSON.parse(text);
    expect([type, features.length]).toEqual(['FeatureCollection', seconds + 1]);
    expect(features[1]).toEqual({
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [0.00001, 48.85661, 35] },
      properties: {
        ...{ vehicle: vehicle.id, time: '2025-11-21T08:00:01.000001Z', speed: 36 },
        can: [{ key: 'note', value: '-1' }],
      },
    });
    expect(features.at(-1).geometry.coordinates).toEqual([180, 1e-7]);
  });

  it('has a track for each vehicle as GPX 1.1, with a segment on each side of a pause', async () => {
    const { text } = await download(`format=gpx&${interval}`);
    const elements = readElements(text);
    const count = (name: string) => elements.filter((element) => element.name === name).length;
    expect([count('trk'), count('trkseg'), count('trkpt')]).toEqual([2, 3, seconds + 1]);
    expect(elements.map(({ children }) => children)).toEqual(
      elements.map(({ name, children }) => inOrder(name, children)),
    );
    expect(text).toContain(
      '<trkpt lat="48.8566" lon="0"><ele>35</ele><time>2025-11-21T08:00:00.000Z</time><sat>9</sat><extensions><gpxtpx:TrackPointExtension><gpxtpx:speed>10.000</gpxtpx:speed><gpxtpx:course>270</gpxtpx:course></gpxtpx:TrackPointExtension></extensions></trkpt>',
    );
    expect(text).toContain('<trkpt lat="0.0000001" lon="-180"><time>2025-11-21T09:00:01.500Z</time></trkpt>');
  });

  it('is whole, but for the rows, where there are none', async () => {
    const none = 'from=2025-01-01T00:00:00Z&until=2025-01-02T00:00:00Z';
    const [csv, ndjson, geojson, gpx, parquet] = await Promise.all(
      ['csv', 'ndjson', 'geojson', 'gpx', 'parquet'].map((format) => download(`format=${format}&${none}`)),
    );
    expect(linesOf(csv?.text ?? '')).toHaveLength(1);
    expect(ndjson?.text).toBe('');
    expect(JSON.parse(geojson?.text ?? '')).toEqual({ type: 'FeatureCollection', features: [] });
    expect(readElements(gpx?.text ?? '').map(({ name }) => name)).toEqual(['gpx']);
    expect(await parquetReadObjects({ file: parquet?.bytes ?? new ArrayBuffer(0) })).toEqual([]);
  });

  it('is limited to the vehicles of a user', async () => {
    const userId = await createUser(platform.db, application.id, [otherVehicle.id]);
    const token = await createToken(platform.db, application.id, userId);
    const own = linesOf((await download(`format=csv&${interval}`, undefined, token)).text);
    expect(own.map((line) => line.split(',')[0])).toEqual(['vehicle', otherVehicle.id, otherVehicle.id]);
  });

  it.each([
    ['format=csv&from=2025-11-21&until=2025-11-21', 'INVALID_INTERVAL', 'until'],
    ['format=csv&from=2025-11-21', 'INVALID_PARAMETER', 'until'],
    ['format=xlsx&from=1&until=2', 'INVALID_PARAMETER', 'format'],
    ['format=csv&from=1&until=2&fields=nothing', 'INVALID_PARAMETER', 'fields'],
    ['format=ndjson&from=1&until=2&fields=speed', 'INVALID_PARAMETER', 'fields'],
    ['format=gpx&of=trips&from=1&until=2', 'INVALID_PARAMETER', 'format'],
    ['format=csv&of=gaps&from=1&until=2&fields=speed', 'INVALID_PARAMETER', 'fields'],
  ])('is refused for %s', async (search, error, field) => {
    const { status, body } = await client.get(`/v1/x/vehicles/export?${search}`);
    expect([status, body.error, body.field]).toEqual([400, error, field]);
  });
});

describe('an export of trips and of gaps', () => {
  it('has the trips that start in the interval, with the values of the trip object', async () => {
    await sql`insert into trip (vehicle_id, started_at, ended_at, ends_known_at, settled, inferred, distance_km)
      select ${vehicle.id}::integer, start, start + interval '30 minutes', now(), true, false, 10
      from unnest('{2025-11-20 23:59:59Z,2025-11-21 08:00Z,2025-11-21 10:00Z,2025-11-22 00:00Z}'::timestamptz[]) as start`.execute(
      platform.db,
    );
    const { body } = await client.get(`/v1/vehicle/${vehicle.id}/trips?${interval}`);
    const csv = linesOf((await download(`of=trips&format=csv&${interval}`)).text);
    expect(csv[0]).toMatch(/^vehicle,trip_id,timestamp,until,distance,duration,/);
    const [first] = body.trips;
    expect(csv.slice(1).map((line) => line.split(',').slice(0, 6))).toEqual([
      [vehicle.id, first.trip_id, '2025-11-21T08:00:00.000Z', '2025-11-21T08:30:00.000Z', '10', '30'],
      [vehicle.id, body.trips[1].trip_id, '2025-11-21T10:00:00.000Z', '2025-11-21T10:30:00.000Z', '10', '30'],
    ]);
    const { bytes } = await download(`of=trips&format=parquet&${interval}`);
    expect((await parquetReadObjects({ file: bytes }))[0]).toMatchObject({ trip_id: first.trip_id, distance: 10 });
  });

  it('has the gaps that were noticed in the interval', async () => {
    await sql`insert into closed_gap (device_id, from_sequence, until_sequence, since, closed_at, outcome)
      select ${vehicle.deviceId}, n, n + 1, '2025-11-21T12:00:00Z'::timestamptz + n * interval '10 hours', now(), 'ARRIVED'
      from generate_series(0, 2) as n`.execute(platform.db);
    const { text } = await download(`of=gaps&format=ndjson&${interval}`);
    expect(
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        ...{ vehicle: vehicle.id, deviceId: vehicle.deviceId, fromSequence: 0, untilSequence: 1, missing: 2 },
        ...{ state: 'ARRIVED', since: '2025-11-21T12:00:00.000Z', closedAt: expect.any(String) },
      },
      expect.objectContaining({ fromSequence: 1 }),
    ]);
  });
});

interface XmlElement {
  readonly name: string;
  readonly children: string[];
}

/** Reads the elements of an XML document; throws unless it is well-formed. */
function readElements(xml: string): XmlElement[] {
  const elements: XmlElement[] = [];
  const path: XmlElement[] = [];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name }) => {
    const element = { name, children: [] };
    path.at(-1)?.children.push(name);
    elements.push(element);
    path.push(element);
  });
  parser.on('closetag', () => void path.pop());
  parser.write(xml).close();
  return elements;
}

/** The children of each element that an export has, in the order of the schema of GPX 1.1 and of Garmin's extension. */
const gpxSchema: Readonly<Record<string, readonly string[]>> = {
  gpx: ['metadata', 'wpt', 'rte', 'trk', 'extensions'],
  trk: ['name', 'cmt', 'desc', 'src', 'link', 'number', 'type', 'extensions', 'trkseg'],
  trkseg: ['trkpt', 'extensions'],
  trkpt: ['ele', 'time', 'magvar', 'geoidheight', 'name', 'cmt', 'desc', 'src', 'fix', 'sat', 'extensions'],
  extensions: ['gpxtpx:TrackPointExtension'],
  'gpxtpx:TrackPointExtension': ['gpxtpx:atemp', 'gpxtpx:hr', 'gpxtpx:cad', 'gpxtpx:speed', 'gpxtpx:course'],
};

/** The children of an element that the schema knows, in its order. */
function inOrder(name: string, children: readonly string[]): string[] {
  return (gpxSchema[name] ?? []).flatMap((child) => children.filter((one) => one === child));
}
