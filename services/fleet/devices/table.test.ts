import { brokerKey, disconnectedKey, presenceKey } from '@odograph/contracts/presence';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { type ApiClient, clientWithToken, createBrowser } from '@odograph/testkit/api-client';
import {
  createApplication,
  createDevice,
  createOperator,
  createUser,
  createVehicle,
  type TestApplication,
  unlinkDevice,
} from '@odograph/testkit/fixtures';
import fc from 'fast-check';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startFleet } from '../fleet.fixture.ts';
import { sortColumns } from './table.ts';

const { platform, admin, as } = await startFleet();
const { db } = platform;
let application: TestApplication;
let client: ApiClient;

beforeEach(async () => {
  application = await createApplication(db);
  client = as(application.token);
});

const list = async (query = '', as = client) => (await as.get(`/v1/x/devices?${query}`)).body;
const ids = async (query = '', as = client): Promise<string[]> =>
  (await list(query, as)).devices.map(({ deviceId }: { deviceId: string }) => deviceId);
const quarantine = (deviceId: string, isOpen = true) =>
  sql`insert into quarantine (device_id, received_at, sealed_payload, payload_bytes, payload_fingerprint, faults, resolved_at)
    values (${deviceId}, now(), '', 1, ${Buffer.from(String(Math.random()))}, '[]', ${isOpen ? null : new Date()})`.execute(
    db,
  );

async function connect(...deviceIds: string[]): Promise<void> {
  const redis = connectRedis(platform.config.REDIS_URL, createLogger('silent'));
  const prefix = platform.config.QUEUE_PREFIX;
  await new Promise<void>((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)));
  await redis.set(brokerKey(prefix, 'alive'), '1');
  for (const id of deviceIds) await redis.hset(presenceKey(prefix), id, 'alive 1');
  await redis.hset(presenceKey(prefix), 'of-a-dead-broker', 'dead 1');
  redis.disconnect();
}

/** Ends the sessions of devices at a time. */
async function disconnect(time: string, ...deviceIds: string[]): Promise<void> {
  const redis = connectRedis(platform.config.REDIS_URL, createLogger('silent'));
  const { QUEUE_PREFIX: prefix } = platform.config;
  await new Promise<void>((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)));
  for (const id of deviceIds) await redis.hset(disconnectedKey(prefix), id, Date.parse(time));
  redis.disconnect();
}

type Row = Record<string, string | number>;

/** Sorts as the interface promises: unknown values last, equal ones by id. */
function sortWhole(rows: readonly Row[], column: string, isDescending: boolean): Row[] {
  const isKnown = (row: Row) => row[column] !== '' && row[column] !== undefined;
  const order = (a: string | number, b: string | number) => (a < b ? -1 : Number(a > b));
  const sort = (list: Row[]) =>
    list.sort(
      (one, other) =>
        order(one[column] ?? '', other[column] ?? '') || order(one['deviceId'] ?? '', other['deviceId'] ?? ''),
    );
  const groups = [rows.filter(isKnown), rows.filter((row) => !isKnown(row))].map(sort);
  return groups.flatMap((group) => (isDescending ? group.reverse() : group));
}

describe('GET /v1/x/devices', () => {
  it('answers vehicle, connection, last upload, age of the credentials and open quarantine', async () => {
    const vehicle = await createVehicle(db, application);
    await sql`insert into vehicle_latest (vehicle_id, time, received_at)
      values (${vehicle.id}::integer, now(), '2025-03-01T08:00:00Z')`.execute(db);
    await sql`update device set secret_issued_at = '2025-01-01' where id = ${vehicle.deviceId}`.execute(db);
    for (const isOpen of [true, true, false]) await quarantine(vehicle.deviceId, isOpen);
    const { deviceId: spare } = await createDevice(db, { applicationId: application.id, model: 'tracker' });
    await connect(vehicle.deviceId);
    const { devices, total } = await list('sort=-quarantined');
    expect(total).toBe(2);
    expect(devices).toEqual([
      {
        ...{ deviceId: vehicle.deviceId, model: 'generic', appId: application.appId, vehicleId: vehicle.id },
        ...{ plate: expect.any(String), connected: true, lastUpload: '2025-03-01T08:00:00.000Z', quarantined: 2 },
        ...{ createdAt: expect.any(String), secretIssuedAt: '2025-01-01T00:00:00.000Z', protocol: 'mqtt' },
      },
      {
        ...{ deviceId: spare, model: 'tracker', appId: application.appId, vehicleId: '', plate: '', connected: false },
        ...{ createdAt: expect.any(String), secretIssuedAt: expect.any(String), quarantined: 0, protocol: 'mqtt' },
      },
    ]);
    const filters = {
      'connected=true': vehicle,
      'linked=1': vehicle,
      'quarantined=true': vehicle,
      'model=generic': vehicle,
    };
    for (const [filter, { deviceId }] of Object.entries(filters)) expect(await ids(filter)).toEqual([deviceId]);
    for (const filter of ['connected=false', 'linked=0', 'quarantined=false', 'model=tracker']) {
      expect(await ids(filter)).toEqual([spare]);
    }
    for (const search of [
      vehicle.deviceId.slice(3).toUpperCase(),
      devices[0].plate.slice(1, 9),
      devices[0].plate.replace('-', ' '),
    ]) {
      expect(await ids(`q=${search}`)).toEqual([vehicle.deviceId]);
    }
    expect(await ids('q=%25')).toEqual([]);
  });

  it('renews the age of the credentials with the secret', async () => {
    const { deviceId } = await createDevice(db, { applicationId: application.id });
    await sql`update device set secret_issued_at = '2025-01-01' where id = ${deviceId}`.execute(db);
    const answer = await admin.post(`/v1/x/admin/devices/${deviceId}/secret`, { overlapSeconds: 60 });
    expect(answer.status).toBe(200);
    const [device] = (await list()).devices;
    expect(Date.parse(device.secretIssuedAt)).toBeGreaterThan(Date.now() - 60_000);
    expect(Date.parse(device.previousSecretUntil)).toBeGreaterThan(Date.now());
  });

  it('pages under every sort through each device once, in the order of a full sort', async () => {
    for (let count = 0; count < 8; count += 1) {
      const { deviceId } = await createVehicle(db, application, { model: ['generic', 'tracker'][count % 2] ?? 'obd' });
      if (count % 3 === 0) await quarantine(deviceId);
      if (count % 4 === 0) await unlinkDevice(db, deviceId);
      await sql`update device set created_at = to_timestamp(${count % 2}) where id = ${deviceId}`.execute(db);
    }
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sortColumns),
        fc.boolean(),
        fc.integer({ min: 1, max: 4 }),
        async (column, isDescending, limit) => {
          const expected = sortWhole((await list()).devices, column, isDescending);
          const found: string[] = [];
          let path: string | undefined = `/v1/x/devices?limit=${limit}&sort=${isDescending ? '-' : ''}${column}`;
          while (path) {
            const { body, headers }: Awaited<ReturnType<ApiClient['get']>> = await client.get(path);
            found.push(...body.devices.map(({ deviceId }: { deviceId: string }) => deviceId));
            expect(body.total).toBe(8);
            path = /<(.+)>/.exec(headers.get('link') ?? '')?.[1];
          }
          expect(found).toEqual(expected.map(({ deviceId }) => deviceId));
        },
      ),
      { numRuns: 10 },
    );
  }, 60_000);

  it('shows a person only what it may see', async () => {
    const [mine, other] = [await createVehicle(db, application), await createVehicle(db, application)];
    const { deviceId: spare } = await createDevice(db, { applicationId: application.id });
    const { deviceId: stock } = await createDevice(db);
    const foreign = await createVehicle(db, await createApplication(db));
    const user = await createUser(db, application, { vehicleIds: [mine.id], role: 'viewer' });
    expect(await ids('', as(user.token))).toEqual([mine.deviceId]);
    const limited = await createOperator(db, { role: 'viewer', applicationIds: [application.id] });
    const all = [mine.deviceId, other.deviceId, spare].sort();
    expect(await ids('', createBrowser(platform.httpUrl, limited.cookie))).toEqual(all);
    expect(await ids()).toEqual(all);
    for (const id of [stock, foreign.deviceId]) {
      expect(await ids(`q=${id}`, admin)).toEqual([id]);
      const { status, body } = await client.get(`/v1/x/devices?after=${id}`);
      expect([status, body.error, body.field]).toEqual([400, 'INVALID_PARAMETER', 'after']);
    }
  });
});

describe('GET /v1/x/devices/{id}', () => {
  const detail = (id: string, as = client) => as.get(`/v1/x/devices/${id}`);

  it('says since when a device is not connected, and leaves it out while it is', async () => {
    const { deviceId } = await createDevice(db, { applicationId: application.id });
    expect((await detail(deviceId)).body.disconnectedSince).toBeUndefined();
    await disconnect('2026-01-02T03:04:05.678Z', deviceId);
    expect((await detail(deviceId)).body).toMatchObject({
      ...{ connected: false, disconnectedSince: '2026-01-02T03:04:05.678Z' },
    });
    expect((await list()).devices[0].disconnectedSince).toBe('2026-01-02T03:04:05.678Z');
    await connect(deviceId);
    const { connected, disconnectedSince } = (await detail(deviceId)).body;
    expect([connected, disconnectedSince]).toEqual([true, undefined]);
  });

  it('answers the links of a device in time, and its last uploads with the readings that are stored', async () => {
    const vehicle = await createVehicle(db, application);
    const second = await createVehicle(db, application);
    await sql`delete from device_link where device_id in (${vehicle.deviceId}, ${second.deviceId})`.execute(db);
    await sql`insert into device_link (device_id, vehicle_id, period) values
      (${vehicle.deviceId}, ${vehicle.id}::integer, '(,2026-02-01)'),
      (${vehicle.deviceId}, ${second.id}::integer, '[2026-02-01,)')`.execute(db);
    await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
      select time, ${application.id}, ${second.id}::integer, device, received::timestamptz from (values
        (timestamptz '2026-02-02 08:00', ${vehicle.deviceId}, '2026-02-02 09:00'),
        ('2026-02-02 08:10', ${vehicle.deviceId}, '2026-02-02 09:00'), ('2026-02-02 10:00', ${vehicle.deviceId}, '2026-02-02 10:01'),
        ('2026-02-02 11:00', 'another device', '2026-02-02 11:01')) as uploaded (time, device, received)`.execute(db);
    const { links, uploads } = (await detail(vehicle.deviceId)).body;
    const february = '2026-02-01T00:00:00.000Z';
    expect(links).toEqual([
      { vehicleId: second.id, plate: expect.any(String), from: february },
      { vehicleId: vehicle.id, plate: expect.any(String), until: february },
    ]);
    const [eight, ten, received] = ['08:00', '10:00', '09:00'].map((time) => `2026-02-02T${time}:00.000Z`);
    expect(uploads).toEqual([
      { receivedAt: '2026-02-02T10:01:00.000Z', vehicleId: second.id, readings: 1, firstTime: ten, lastTime: ten },
      {
        ...{ receivedAt: received, vehicleId: second.id, readings: 2 },
        ...{ firstTime: eight, lastTime: '2026-02-02T08:10:00.000Z' },
      },
    ]);
  });

  it('hides devices, and links to vehicles, that a person does not see', async () => {
    const [mine, other] = [await createVehicle(db, application), await createVehicle(db, application)];
    await sql`update device_link set period = '[2026-02-01,)' where device_id = ${mine.deviceId}`.execute(db);
    await sql`delete from device_link where device_id = ${other.deviceId}`.execute(db);
    await sql`insert into device_link (device_id, vehicle_id, period)
      values (${mine.deviceId}, ${other.id}::integer, '(,2026-02-01)')`.execute(db);
    const user = clientWithToken(
      platform.httpUrl,
      (await createUser(db, application, { vehicleIds: [mine.id], role: 'viewer' })).token,
    );
    expect((await detail(mine.deviceId)).body.links).toHaveLength(2);
    expect((await detail(mine.deviceId, user)).body.links.map(({ vehicleId }: Row) => vehicleId)).toEqual([mine.id]);
    const foreign = await createVehicle(db, await createApplication(db));
    for (const [id, as] of [
      [other.deviceId, user],
      [foreign.deviceId, client],
      ['missing', admin],
    ] as const) {
      const { status, body } = await detail(id, as);
      expect([status, body]).toEqual([404, { error: 'UNKNOWN_DEVICE', message: 'no such device' }]);
    }
  });
});
