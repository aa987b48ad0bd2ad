import { type Database, openDatabase } from '@odograph/database/database';
import { countUnfinishedJobs, openQueue, type TypedQueue } from '@odograph/queue/queues';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ApiClient, clientWithToken, createApiClient } from '@odograph/testkit/api-client';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice, type TestVehicle } from '@odograph/testkit/fixtures';
import { createOwnDatabase, type OwnDatabase } from '@odograph/testkit/global-setup';
import { mqttUrlOf, testAdminToken, testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOwner, type Owner } from './owner.fixture.ts';
import {
  numberForms,
  type Planted,
  searchDatabase,
  searchRedis,
  tracedIn,
  tracesOf,
} from './planted-coordinates.fixture.ts';
import {
  callRoute,
  givenParameters,
  guardOf,
  plainValue,
  type Route,
  readRoutes,
  resourceOf,
} from './route-table.fixture.ts';

/** Holds nothing but what this file stores, since every row of it is searched. */
let database: OwnDatabase;
let db: Database;
let config: ResolvedConfig;
/** All services except ingest, so that uploads wait in Redis until the test starts it. */
let front: ChildPlatform;
const ended: string[] = [];
let queue: TypedQueue<'uploads'>;
let owner: Owner;
let api: ApiClient;
let admin: ApiClient;
let device: DeviceConnection;
let stray: DeviceConnection;

async function settings(): Promise<Record<string, string>> {
  return { ...(await settingsFrom(config)), LOG_LEVEL: 'trace' };
}

/** Runs ingest in a process of its own until the queue is empty and `until` passes. */
async function ingest(until: () => Promise<void> = async () => undefined): Promise<void> {
  const back = await spawnPlatform(['ingest'], await settings());
  await eventually(async () => {
    expect(await countUnfinishedJobs(queue)).toBe(0);
    await until();
  }, 30_000);
  await back.end('SIGTERM');
  ended.push(back.output());
}

beforeAll(async () => {
  database = await createOwnDatabase('privacy');
  db = openDatabase({ url: database.url, name: 'test', size: 2 });
  config = await testConfig({ DATABASE_URL: database.url });
  front = await spawnPlatform(
    ['broker', 'query', 'fleet', 'access', 'registration', 'command', 'console', 'events'],
    await settings(),
  );
  queue = openQueue('uploads', { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX });
  owner = await createOwner({ db, httpUrl: front.httpUrl });
  api = clientWithToken(front.httpUrl, owner.application.token);
  admin = createApiClient(front.httpUrl, { authorization: `Bearer ${testAdminToken}` });
  device = await connectDevice(mqttUrlOf(config), owner.vehicle);
  stray = await connectDevice(mqttUrlOf(config), await createDevice(db));
}, 120_000);
afterAll(async () => {
  await Promise.all([device?.close(), stray?.close()]);
  await queue?.close();
  if (front?.process.exitCode === null) await front.end('SIGTERM');
  await db?.destroy();
  await database?.drop();
});

const now = () => Date.now() / 1000;

/** Builds a reading with the coordinate in every field that could carry it. */
function reading(timestamp: number, digits: Planted, form = numberForms[0]): string {
  const number = form?.(digits);
  return `{"timestamp":${timestamp},"location":{"latitude":${number},"longitude":2.2,"speed":31},
    "status":{"ignition":true,"mileage":1000},"can":[{"key":"gps_latitude","value":"${number}"},
    {"key":"io387","value":"${Buffer.from(`+${number}`).toString('hex')}"},{"key":"fix","value":"{\\"lat\\":${number}}"}],
    "sensors":[{"name":"tracker","data":[{"key":"longitude","value":"${number}"}]},
    {"name":"ble_${digits}","data":[{"key":"list","value":"beacons"},{"key":"rssi","value":"-60"}]}],"gps":{"lat":${number}},
    "frames":[{"id":"100","data":"${Buffer.from(digits).toString('hex')}"},{"id":"101","data":"${littleEndian(digits)}"}]}`;
}

/** The coordinate in 10⁻⁷ degrees, as a device sends it on the CAN bus. */
function littleEndian(digits: Planted): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(Number(digits));
  return bytes.toString('hex');
}

const positionDbc = 'BO_ 257 Receiver: 8 X\n SG_ Gps_Latitude : 0|32@1+ (1e-7,0) [0|0] "deg" X\n';

/** Seven decimals, so that no other number of a test matches. */
const planted = {
  ahead: '487100111',
  decimal: '487200222',
  padded: '487300333',
  exponent: '487400444',
  shifted: '487500555',
  late: '487600666',
  compressed: '487700777',
  notJson: '487800888',
  wrongType: '487900999',
  notUtf8: '488001112',
  future: '488102223',
  notLinked: '488203334',
} as const;
const secrets: readonly Planted[] = Object.values(planted);
/** Not private, so they are found: the search works. */
const known = { before: '489101919', compressed: '489202929' } as const;

function adminValue(name: string, path: string, quarantineId: string): string {
  const values: Record<string, string> = {
    appId: owner.application.appId,
    file_sha256: '0'.repeat(64),
    plate_or_vin: owner.names.plate,
    name: 'generic',
    deviceId: owner.vehicle.deviceId,
    vehicleId: owner.vehicle.id,
    id: path.includes('/quarantine/') ? quarantineId : owner.vehicle.deviceId,
  };
  const value = values[name];
  if (value === undefined) throw new Error(`add to this test what ${name} of ${path} is`);
  return value;
}

/** Collects the answers of all readable routes, by route. */
async function readEverything(): Promise<Map<string, string>> {
  const headers = { 'x-service-token': owner.application.token, authorization: `Bearer ${testAdminToken}` };
  const quarantined = await sql<{ id: string }>`select max(id)::text as id from quarantine
    where device_id = ${owner.vehicle.deviceId}`.execute(db);
  const quarantineId = quarantined.rows[0]?.id ?? '1';
  const valueFor = (route: Route, name: string): unknown => {
    if (guardOf(route) === 'admin') return adminValue(name, route.path, quarantineId);
    const resource = resourceOf(route, name);
    return resource ? owner.names[resource] : plainValue(route, name);
  };
  const answers = new Map<string, string>();
  for (const route of (await readRoutes(front.httpUrl)).filter(({ method }) => method === 'GET')) {
    const names = route.parameters.map(({ name }) => name).filter((name) => resourceOf(route, name));
    for (const chosen of names.length === 0 ? [undefined] : names) {
      const values = givenParameters(route, chosen).map((one) => ({ ...one, value: valueFor(route, one.name) }));
      const { status, body } = await callRoute(front.httpUrl, route, values, headers);
      answers.set(`${route.path} ${chosen ?? ''} ${status}`, body);
    }
  }
  for (const path of queuePages) answers.set(path, JSON.stringify((await admin.get(path)).body));
  return answers;
}

const queuePages = ['uploads', 'acknowledgements', 'maintenance', 'trips'].flatMap((name) =>
  ['latest', 'waiting', 'active', 'completed', 'failed', 'delayed'].map(
    (status) => `/queues/api/queues?activeQueue=${name}&status=${status}&page=1&jobsPerPage=100`,
  ),
);

/** Finds the answers that contain one of the coordinates. */
async function searchAnswers(digits: readonly Planted[]): Promise<string[]> {
  const answers = await readEverything();
  expect(answers.size).toBeGreaterThan(60);
  return [...answers].filter(([, body]) => tracedIn(body, digits).length > 0).map(([name]) => name);
}

const uploadIn = async (device: DeviceConnection, ...payloads: (string | Buffer)[]) => {
  for (const payload of payloads) await device.upload(payload);
};

const latitudeOf = async ({ id }: TestVehicle, condition: ReturnType<typeof sql>) =>
  (
    await sql<{
      latitude: number | null;
    }>`select latitude from reading_in_units where vehicle_id = ${Number(id)} and ${condition}`.execute(db)
  ).rows;

describe('positions of a privacy interval', { timeout: 120_000 }, () => {
  it('are found by this search outside a privacy interval', async () => {
    for (const form of numberForms) {
      for (const before of ['', 'x', 'xx']) {
        const payload = before + form(known.before);
        expect(tracedIn(payload, [known.before])).toEqual([known.before]);
        expect(tracedIn(Buffer.from(payload).toString('hex'), [known.before])).toEqual([known.before]);
        expect(tracedIn(Buffer.from(`${payload},`).toString('base64'), [known.before])).toEqual([known.before]);
      }
    }
    expect(tracesOf(known.before).every((trace) => trace.length >= 7)).toBe(true);
    const { rows: models } = await sql<{ model: string }>`update vehicle set model = 'Privacy'
      where id = ${Number(owner.vehicle.id)} returning model`.execute(db);
    expect(models).toHaveLength(1);
    const base64 = Buffer.from(positionDbc).toString('base64');
    expect((await admin.put('/v1/x/admin/can-databases/Privacy', { base64 })).body.faults).toEqual([]);
    await uploadIn(device, reading(now() - 60, known.before), reading(now() + 200, planted.ahead));
    await ingest();
    expect(await searchDatabase(db, [known.before])).toEqual(expect.arrayContaining(['public.reading']));
    const decoded = await sql<{ values: string }>`select decoded_can::text as values from reading
      where vehicle_id = ${Number(owner.vehicle.id)} and frames is not null order by time limit 1`.execute(db);
    expect(tracedIn(decoded.rows[0]?.values ?? '', [known.before])).toEqual([known.before]);
    expect((await searchAnswers([known.before])).length).toBeGreaterThan(1);
    expect(await searchDatabase(db, [planted.ahead])).not.toEqual([]);
  });

  it('are removed from the database when the interval begins, where a fast clock had put them', async () => {
    const { body } = await api.post('/v1/vehicle/privacy/on', { vehicleId: owner.vehicle.id });
    expect(body).toEqual({ Privacy: true });
    expect(await searchDatabase(db, [planted.ahead])).toEqual([]);
    expect(await searchAnswers([planted.ahead])).toEqual([]);
  });

  it('are shown nowhere while they wait in Redis', async () => {
    const forms = [planted.decimal, planted.padded, planted.exponent, planted.shifted];
    for (const [index, digits] of forms.entries()) await uploadIn(device, reading(now(), digits, numberForms[index]));
    await uploadIn(
      device,
      reading(now(), planted.notJson).slice(0, -1),
      reading(now(), planted.wrongType).replace('"speed":31', '"speed":"fast"'),
      Buffer.concat([Buffer.from([0xff]), Buffer.from(reading(now(), planted.notUtf8))]),
      reading(now() + 1000, planted.future),
    );
    await uploadIn(stray, reading(now(), planted.notLinked));
    expect(await searchRedis(config.REDIS_URL, config.QUEUE_PREFIX, secrets)).not.toEqual([]);
    const waiting = await admin.get(queuePages.find((page) => page.includes('uploads&status=waiting')) ?? '');
    expect(JSON.stringify(waiting.body)).toContain('"devices":1');
    expect(await searchAnswers(secrets)).toEqual([]);
    expect(await searchDatabase(db, secrets)).toEqual([]);
  });

  it('are in no table and no answer after ingest, live or in quarantine', async () => {
    await ingest();
    const rows = await latitudeOf(owner.vehicle, sql`time > now() - interval '1 hour' and speed = 31`);
    expect(rows.filter(({ latitude }) => latitude === null)).toHaveLength(5);
    expect(await searchDatabase(db, secrets)).toEqual([]);
    expect(await searchAnswers(secrets)).toEqual([]);
    const position = await api.get(`/v1/vehicle/position?vehicleId=${owner.vehicle.id}`);
    expect([position.status, position.body.error]).toEqual([404, 'POSITION_UNKNOWN']);
    const { body: status } = await api.get(`/v1/vehicle/status?vehicleId=${owner.vehicle.id}`);
    expect([status.privacy, status.position]).toEqual([true, undefined]);
  });

  it('are dropped when they are uploaded later, also into compressed chunks', async () => {
    const duringPrivacy = now();
    expect((await api.post('/v1/vehicle/privacy/off', { vehicleId: owner.vehicle.id })).body).toEqual({
      Privacy: false,
    });
    // A day in a chunk without other readings, recent enough for uploads.
    const day = (Math.floor(Date.now() / 86_400_000) - 364) * 86_400;
    const halfPastTwelve = day + 12.5 * 3600;
    await sql`insert into privacy_period values (${Number(owner.vehicle.id)},
      tstzrange(to_timestamp(${halfPastTwelve - 1800}), to_timestamp(${halfPastTwelve + 1800})))`.execute(db);
    await uploadIn(
      device,
      reading(duringPrivacy, planted.late),
      reading(halfPastTwelve, planted.compressed),
      reading(halfPastTwelve + 3600, known.compressed),
    );
    await ingest();
    expect(await compressReadings(db, halfPastTwelve, halfPastTwelve + 3600)).toBe(1);
    const inChunk = sql`time between to_timestamp(${day}) and to_timestamp(${day + 86_400})`;
    expect(await latitudeOf(owner.vehicle, sql`${inChunk} order by time`)).toEqual([
      { latitude: null },
      { latitude: 48.9202929 },
    ]);
    expect(await searchDatabase(db, [known.compressed])).toContain('public.reading');
    expect(await searchDatabase(db, secrets)).toEqual([]);
    expect(await searchAnswers(secrets)).toEqual([]);
  });

  it('do not come back when stored frames are decoded again', async () => {
    const { body } = await admin.post('/v1/x/admin/can-redecodings', { model: 'Privacy' });
    await ingest(async () => {
      const progress = await admin.get(`/v1/x/admin/can-redecodings/${body.id}`);
      expect(progress.body).toMatchObject({ vehiclesDone: 1, finishedAt: expect.any(String) });
    });
    expect(await searchDatabase(db, secrets)).toEqual([]);
    expect(await searchAnswers(secrets)).toEqual([]);
  });

  it('are gone from Redis after the queue has drained', async () => {
    expect(await searchRedis(config.REDIS_URL, config.QUEUE_PREFIX, [...secrets, ...Object.values(known)])).toEqual([]);
  });

  it('can be opened from quarantine only by the operator, which is audited', async () => {
    const { rows } = await sql<{ id: string }>`select id::text as id from quarantine
      where device_id = ${owner.vehicle.deviceId} order by id`.execute(db);
    expect(rows).toHaveLength(4);
    const opened: string[] = [];
    for (const { id } of rows) {
      const { body } = await admin.post(`/v1/x/admin/quarantine/${id}/open`);
      opened.push(...tracedIn(Buffer.from(body.base64, 'base64').toString('latin1'), secrets));
      const { body: refused } = await api.post(`/v1/x/admin/quarantine/${id}/open`);
      expect(refused.error).toBe('MISSING_TOKEN');
    }
    expect(opened.sort()).toEqual([planted.notJson, planted.wrongType, planted.notUtf8, planted.future]);
    const audit = await sql`select from audit where action = 'quarantine.open'
      and details->>'deviceId' = ${owner.vehicle.deviceId}`.execute(db);
    expect(audit.rows).toHaveLength(4);
    expect(await searchDatabase(db, secrets)).toEqual([]);
  });

  it('are in no log line', async () => {
    expect(await front.end('SIGTERM')).toBe(0);
    const log = [front.output(), ...ended].join('\n');
    expect(log.length).toBeGreaterThan(10_000);
    expect(log).toContain('"level":20');
    expect(tracedIn(log, secrets)).toEqual([]);
  });
});
