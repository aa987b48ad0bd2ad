import type { ApiClient } from '@odograph/testkit/api-client';
import { createToken, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { application, client, platform, setUpApplication } from '../application.fixture.ts';
import { createFleet, createUser, markHours, storeLatest, storeReadings } from '../query.fixture.ts';
import { CustomCanReading } from '../shared/schemas.ts';

setUpApplication();

const Readings = Type.Array(CustomCanReading);
type Reading = Static<typeof CustomCanReading>;

const start = 1_763_712_000;
const startTime = '2025-11-21T08:00:00Z';
const engine = [{ key: 'engine_rpm', value: '2100' }];

async function read(path: string, by = client): Promise<{ readings: Reading[]; link: string | undefined }> {
  const { body, headers } = await by.get(path);
  Value.Assert(Readings, body);
  const link = /^<(\/v1\/[^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  expect(headers.get('x-has-more')).toBe(String(link !== undefined));
  return { readings: body, link };
}
const keyOf = ({ timestamp, vehicle }: Reading) => `${timestamp} ${vehicle.id}`;
const sinceStart = `/v1/vehicles/customcan/from/${start}`;

/** Reads all pages by following the links. */
async function followLinks(path: string): Promise<{ keys: string[]; pages: number[] }> {
  const keys: string[] = [];
  const pages: number[] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const { readings, link } = await read(next);
    keys.push(...readings.map(keyOf));
    pages.push(readings.length);
    next = link;
  }
  return { keys, pages };
}

/** Reads all pages without links: each from the last timestamp, until a page is not full; drops repeated readings. */
async function followTimestamps(path: string): Promise<Set<string>> {
  const found = new Set<string>();
  for (let next = start; ; ) {
    const { readings } = await read(`${path}/${next}`);
    for (const reading of readings) found.add(keyOf(reading));
    if (readings.length < 10_000) return found;
    next = readings.at(-1)?.timestamp ?? Number.NaN;
  }
}

/** Stores one reading per vehicle and time, in seconds after the start. */
async function storeBursts(vehicleIds: string[], moments: number[]): Promise<string[]> {
  await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
    select ${startTime}::timestamptz + moment * interval '1 second', ${application.id}, id, 'test', now()
    from unnest(${moments}::double precision[]) as moment, unnest(${vehicleIds}::integer[]) as id`.execute(platform.db);
  await markHours(platform.db, application.id);
  return moments.flatMap((moment) => vehicleIds.map((id) => `${start + moment} ${id}`));
}

describe('paging', () => {
  it('finds 25,000 readings in bursts of 1,500 with the same time, by the last timestamp and by links', async () => {
    const fleet = await createFleet(platform.db, application.id, 1500);
    const bursts = await storeBursts(
      fleet,
      Array.from({ length: 16 }, (_, index) => index * 0.125),
    );
    const single = await storeBursts(
      fleet.slice(0, 1),
      Array.from({ length: 1000 }, (_, index) => 60 + index),
    );
    const expected = [...bursts, ...single];
    expect(expected).toHaveLength(25_000);
    const { keys, pages } = await followLinks(sinceStart);
    expect(pages).toEqual([10_000, 10_000, 5000]);
    expect(keys).toEqual(expected);
    expect([...(await followTimestamps('/v1/vehicles/customcan/from'))]).toEqual(expected);
  });

  it('finds 12,000 readings with the same time by links', async () => {
    const expected = await storeBursts(await createFleet(platform.db, application.id, 12_000), [0.123456]);
    const { keys, pages } = await followLinks(sinceStart);
    expect(pages).toEqual([10_000, 2000]);
    expect(keys).toEqual(expected);
  });

  it('finds every reading of one vehicle, by the last timestamp and by links', async () => {
    const { id } = await createVehicle(platform.db, application);
    const expected = await storeBursts(
      [id],
      Array.from({ length: 10_001 }, (_, index) => index),
    );
    const path = `/v1/vehicle/${id}/customcan/from`;
    expect((await followLinks(`${path}/${start}`)).keys).toEqual(expected);
    expect([...(await followTimestamps(path))]).toEqual(expected);
    const { keys } = await followLinks(`${path}/2025-11-21T10:46:39Z`);
    expect(keys).toEqual(expected.slice(-2));
  });
});

describe('readings', () => {
  it('have CAN data and sensors, and no data of the traction battery', async () => {
    const { id } = await createVehicle(platform.db, application);
    await storeReadings(platform.db, application.id, [
      { time: startTime, vehicle_id: id, can: engine },
      { time: '2025-11-21T08:00:01Z', vehicle_id: id, soc: 80 },
    ]);
    const { readings } = await read(`/v1/vehicle/${id}/customcan/from/${start}`);
    expect(readings.map(({ can }) => can)).toEqual([engine, []]);
  });

  it('have values of the device and then those decoded from frames', async () => {
    const { id } = await createVehicle(platform.db, application);
    const decoded = [{ key: 'EngineSpeed', value: '2000' }];
    await storeReadings(platform.db, application.id, [
      { time: startTime, vehicle_id: id, can: engine, decoded_can: decoded },
      { time: '2025-11-21T08:00:01Z', vehicle_id: id, decoded_can: decoded },
    ]);
    await storeLatest(platform.db, id, '2025-11-21T08:00:01Z', { can: decoded });
    const { readings } = await read(`/v1/vehicle/${id}/customcan/from/${start}`);
    expect(readings.map(({ can }) => can)).toEqual([[...engine, ...decoded], decoded]);
    const series = `/v1/x/vehicle/${id}/series?fields=can.EngineSpeed&from=${start}&until=${start + 60}&points=10`;
    expect(JSON.stringify((await client.get(series)).body)).toContain('2000');
    expect((await client.get(`/v1/x/vehicle/${id}/fields`)).body).toMatchObject({
      fields: expect.arrayContaining([expect.objectContaining({ field: 'can.EngineSpeed' })]),
    });
  });
});

describe('the latest upload', () => {
  it('is answered for all vehicles and for one', async () => {
    const { id } = await createVehicle(platform.db, application);
    await storeLatest(platform.db, id, startTime, { can: engine, status: { ignition: true, mileage: 7.5 } });
    const expected = {
      vehicle: { id, plate: expect.any(String), vin: '', brand: 'Renault', model: 'Zoe' },
      timestamp: start,
      can: engine,
      status: { ignition: true, movement: false, mileage: 7.5, autonomy: 0 },
      sensors: [],
    };
    const all = await client.get('/v1/vehicles/customcan');
    expect(all.body).toEqual([expected]);
    const one = await client.get(`/v1/vehicle/${id}/customcan`);
    expect(one.body).toEqual(expected);
    expect(Value.Check(CustomCanReading, one.body)).toBe(true);
  });
});

describe('a vehicle', () => {
  const paths = (id: string) => [`/v1/vehicle/${id}/customcan`, `/v1/vehicle/${id}/customcan/from/${start}`];
  const lists = ['/v1/vehicles/customcan', sinceStart];

  async function expectOnlyIn(id: string, by: ApiClient): Promise<void> {
    for (const path of lists) {
      const { body } = await by.get(path);
      expect(body.map(({ vehicle }: Reading) => vehicle.id)).toEqual([id]);
    }
  }
  async function reported(model: string): Promise<string> {
    const { id } = await createVehicle(platform.db, application, { model });
    await storeReadings(platform.db, application.id, [{ time: startTime, vehicle_id: id, can: engine }]);
    await storeLatest(platform.db, id, startTime, { can: engine });
    return id;
  }

  it('whose device model has no proprietary CAN is absent from lists and has NO_DATA', async () => {
    const tracker = await reported('tracker');
    const obd = await reported('obd');
    await expectOnlyIn(obd, client);
    for (const path of paths(tracker)) {
      const { status, body } = await client.get(path);
      expect([status, body.error]).toEqual([404, 'NO_DATA']);
    }
  });

  it('keeps its CAN data when its device is unlinked, and hides it with a device without CAN', async () => {
    const id = await reported('generic');
    const period = (bounds: string) =>
      sql`update device_link set period = ${bounds}::tstzrange where vehicle_id = ${id}::integer`;
    await period('(,2025-12-01)').execute(platform.db);
    await expectOnlyIn(id, client);
    await sql`insert into device (id, model_id, secret_sha256)
      values (${`later-${id}`}, 'tracker', '')`.execute(platform.db);
    await sql`insert into device_link values (${`later-${id}`}, ${id}::integer, '[2025-12-02,)')`.execute(platform.db);
    expect((await client.get(lists[0] ?? '')).body).toEqual([]);
  });

  it('without a grant is UNKNOWN_VEHICLE and in no list of the user', async () => {
    const hidden = await reported('generic');
    const granted = await reported('generic');
    const userId = await createUser(platform.db, application.id, [granted]);
    const user = platform.as(await createToken(platform.db, application.id, userId));
    await expectOnlyIn(granted, user);
    for (const path of paths(hidden)) expect((await user.get(path)).body.error).toBe('UNKNOWN_VEHICLE');
  });
});
