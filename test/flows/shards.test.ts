import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { brokerService } from '@odograph/broker/service';
import type { Database } from '@odograph/database/database';
import { ingestService } from '@odograph/ingest/service';
import { ShardWorkers } from '@odograph/ingest/upload/shard-workers';
import { countShardJobs, openShardQueues, shardOf } from '@odograph/queue/shards';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ChildPlatform, settingsFrom, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { startTestPlatform, type TestPlatform, testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { startTcpProxy } from '../faults/parts/tcp-proxy.fixture.ts';

const start = 1_763_712_000;
const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

async function startServices(services: Parameters<typeof startTestPlatform>[0], settings: Record<string, string>) {
  const platform = await startTestPlatform(services, settings);
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= platform.stop());
  closes.push(stop);
  return { ...platform, stop };
}

const createFleet = async (db: Database, size: number): Promise<TestVehicle[]> => {
  const application = await createApplication(db);
  return Promise.all(Array.from({ length: size }, () => createVehicle(db, application)));
};

/** Connects devices; the test closes them. */
async function connectAll({ mqttUrl }: TestPlatform, fleet: readonly TestVehicle[]): Promise<DeviceConnection[]> {
  const devices = await Promise.all(fleet.map((vehicle) => connectDevice(mqttUrl, vehicle)));
  closes.push(() => Promise.all(devices.map((device) => device.close('cut').catch(() => undefined))));
  return devices;
}

/** Uploads one reading of each time from each device and resolves with the PUBACKs. */
const uploadAll = (devices: readonly DeviceConnection[], from: number, until: number) =>
  Promise.all(
    devices.map(async (device) => {
      for (let timestamp = from; timestamp < until; timestamp += 1) await device.upload({ timestamp });
    }),
  );

/** Waits until each vehicle has its readings from `start` until `until`, and nothing else. */
async function awaitStored(db: Database, fleet: readonly TestVehicle[], until: number): Promise<void> {
  const expected = fleet.map(({ id }) => ({ id, readings: until - start, times: until - start })).sort(byId);
  await eventually(async () => {
    const { rows } = await sql<(typeof expected)[number]>`
      select vehicle_id::text as id, count(*)::integer as readings, count(distinct time)::integer as times
      from reading where vehicle_id = any(${fleet.map(({ id }) => id)}::bigint[]) group by vehicle_id`.execute(db);
    expect(rows.sort(byId)).toEqual(expected);
  }, 60_000);
}
const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id);

async function countJobs(config: ResolvedConfig, shards: number): Promise<number[]> {
  const { queues, close } = openShardQueues({ ...config, UPLOAD_SHARDS: shards });
  try {
    return await Promise.all(queues.map(countShardJobs));
  } finally {
    await close();
  }
}

it('stores every upload once when the number of shards shrinks from four to two', async () => {
  const four = await startServices([brokerService], { UPLOAD_SHARDS: '4' });
  const { QUEUE_PREFIX, DATA_DIR } = four.config;
  const fleet = await createFleet(four.db, 24);
  await uploadAll(await connectAll(four, fleet), start, start + 10);
  const jobs = await countJobs(four.config, 4);
  expect(jobs.filter((count) => count > 0)).toHaveLength(4);
  await four.stop();

  const two = await startServices([brokerService, ingestService], { QUEUE_PREFIX, DATA_DIR, UPLOAD_SHARDS: '2' });
  // An upload that is repeated after a missed PUBACK may reach a different queue.
  await uploadAll(await connectAll(two, fleet), start + 5, start + 20);
  await awaitStored(two.db, fleet, start + 20);
  await eventually(async () => expect(await countJobs(two.config, 4)).toEqual([0, 0, 0, 0]), 30_000);
}, 120_000);

describe.skipIf(!hasRedisServer)('with two servers in REDIS_URL', () => {
  async function spawnServer(): Promise<{ server: RedisServer; directory: string }> {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-shards-'));
    const server = await spawnRedis(directory);
    closes.push(() => rm(directory, { recursive: true, force: true }));
    return { server, directory };
  }

  it('the loss of one stops the PUBACKs of its devices only, and each upload is stored once after it returns', async () => {
    const [one, other] = await Promise.all([spawnServer(), spawnServer()]);
    let second = other.server;
    closes.push(
      () => one.server.end('SIGKILL'),
      () => second.end('SIGKILL'),
    );
    const settings = { REDIS_URL: `${one.server.url},${other.server.url}`, UPLOAD_SHARDS: '2' };
    const platform = await startServices([brokerService, ingestService], settings);
    const health = async () => (await platform.anonymous.get('/health')).body;
    const fleet = await createFleet(platform.db, 12);
    const devices = await connectAll(platform, fleet);
    await uploadAll(devices, start, start + 5);

    await second.end('SIGKILL');
    const ofShard = (shard: number) => devices.filter((_, index) => shardOf(fleet[index]?.deviceId ?? '', 2) === shard);
    const [ofFirst, ofSecond] = [ofShard(0), ofShard(1)];
    let released = 0;
    const held = ofSecond.map((device) =>
      uploadAll([device], start + 5, start + 6).then(() => {
        released += 1;
      }),
    );
    await uploadAll(ofFirst, start + 5, start + 10);
    await eventually(async () =>
      expect((await health()).services.broker).toEqual({
        ok: true,
        state: expect.stringMatching(/^listening; holding uploads: shard 1: Redis is unreachable/),
      }),
    );
    await uploadAll(ofFirst, start + 10, start + 12);
    expect(released).toBe(0);

    second = await spawnRedis(other.directory, second.port);
    await Promise.all(held);
    await uploadAll(ofSecond, start + 6, start + 12);
    await awaitStored(platform.db, fleet, start + 12);
    await eventually(async () => expect((await health()).status).toBe('ok'), 30_000);
  }, 120_000);
});

it('when one of two ingests is killed, the other stores the uploads of all shards', async () => {
  const broker = await startServices([brokerService], { UPLOAD_SHARDS: '4' });
  const settings = { ...(await settingsFrom(broker.config)), UPLOAD_SHARDS: '4', LOG_LEVEL: 'warn' };
  const spawnIngest = async (): Promise<ChildPlatform> => {
    const ingest = await spawnPlatform(['ingest'], { ...settings, HTTP_PORT: String(await freePort()) });
    closes.push(() => ingest.end('SIGKILL'));
    return ingest;
  };
  const [victim] = await Promise.all([spawnIngest(), spawnIngest()]);
  const fleet = await createFleet(broker.db, 24);
  const devices = await connectAll(broker, fleet);
  let isKilled = false;
  const killed = delay(500).then(async () => {
    await victim.end('SIGKILL');
    isKilled = true;
  });
  let until = start;
  for (let rounds = 0; !isKilled || rounds < 20; rounds += 1) {
    await uploadAll(devices, until, until + 1);
    until += 1;
  }
  await killed;
  await awaitStored(broker.db, fleet, until);
  await eventually(async () => expect(await countJobs(broker.config, 4)).toEqual([0, 0, 0, 0]), 30_000);
}, 120_000);

it.skipIf(!inject('isNativeDatabase'))(
  'an ingest whose database connection goes silent loses its shard to another and stops processing it',
  async () => {
    const config = await testConfig();
    const url = new URL(config.DATABASE_URL);
    const proxy = await startTcpProxy(Number(url.port || 5432));
    closes.push(() => proxy.close());
    url.host = `127.0.0.1:${proxy.port}`;
    const startWorkers = (databaseUrl: string) => {
      const workers = new ShardWorkers({
        ...{ config: { ...config, DATABASE_URL: databaseUrl }, logger: createLogger('silent') },
        live: { process: async () => undefined, concurrency: 1 },
        late: { process: async () => undefined, concurrency: 1 },
        onFailure: () => undefined,
        onStopped: () => undefined,
      });
      closes.push(() => workers.close());
      return workers;
    };
    const first = startWorkers(url.href);
    await eventually(async () => expect(first.shards).toEqual([0]), 30_000);
    const second = startWorkers(config.DATABASE_URL);
    proxy.silence();
    await eventually(async () => expect(second.shards).toEqual([0]), 30_000);
    proxy.mend();
    await eventually(async () => expect([first.shards, second.shards]).toEqual([[], [0]]), 30_000);
  },
  120_000,
);
