import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '@odograph/database/database';
import { connectDevice } from '@odograph/simulator/device-connection';
import { clientWithToken } from '@odograph/testkit/api-client';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { spawnRedis } from '@odograph/testkit/redis-server';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startLoad } from './parts/load.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { startTcpProxy } from './parts/tcp-proxy.fixture.ts';
import { report } from './parts/testbed.fixture.ts';

const timeoutMs = 300_000 + scale.rounds * 90_000;
const replicas = 2;
/** How many times a command may have been executed, by its answer. */
const truths: Record<string, readonly number[]> = {
  200: [1],
  NO_ACKNOWLEDGEMENT: [0, 1],
  DEVICE_OFFLINE: [0],
  REFUSED: [0],
  PLATFORM_UNAVAILABLE: [0],
};

describe.skipIf(!hasRedisServer)('a rolling restart under connected devices', () => {
  let closes: (() => unknown)[] = [];
  let db: Database;
  let settings: Record<string, string>;

  beforeEach(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
    closes.push(() => rm(directory, { recursive: true, force: true }));
    const redis = await spawnRedis(directory);
    closes.push(() => redis.end('SIGKILL'));
    const opened = openDatabase({ url: testDatabaseUrl(), name: 'faults', size: 2 });
    closes.push(() => opened.destroy());
    db = opened;
    settings = {
      ...{ DATABASE_URL: testDatabaseUrl(), REDIS_URL: redis.url, DATA_DIR: directory, LOG_LEVEL: 'warn' },
      ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys, SHUTDOWN_DRAIN_MS: '0' },
    };
  }, timeoutMs);
  afterEach(async () => {
    for (const close of closes.reverse()) await close();
    closes = [];
  });

  /** A process that can be replaced. */
  async function startReplica(service: string, mqttPort: number): Promise<{ restart(): Promise<number | null> }> {
    const start = async (): Promise<ChildPlatform> =>
      spawnPlatform([service], { ...settings, HTTP_PORT: String(await freePort()), MQTT_PORT: String(mqttPort) });
    let running = await start();
    closes.push(() => running.end('SIGKILL'));
    return {
      async restart() {
        const code = await running.end('SIGTERM');
        running = await start();
        return code;
      },
    };
  }

  async function openBrokers(count: number) {
    const ports: number[] = [];
    for (let index = 0; index < count; index += 1) ports.push(await freePort());
    let turn = 0;
    const proxy = await startTcpProxy(() => {
      turn += 1;
      return ports[turn % count] ?? 0;
    });
    closes.push(() => proxy.close());
    const brokers = await Promise.all(ports.map((port) => startReplica('broker', port)));
    return { brokers, mqttUrl: `mqtt://127.0.0.1:${proxy.port}` };
  }

  it.skipIf(!scale.isFullLength)(
    'of two brokers and two ingests loses no upload',
    async () => {
      const { brokers, mqttUrl } = await openBrokers(replicas);
      const ingests = await Promise.all(Array.from({ length: replicas }, () => startReplica('ingest', 0)));
      const load = await startLoad({ db, mqttUrl, devices: scale.devices });
      const codes = new Set<number | null>();
      await load.progress(3);
      for (let round = 0; round < scale.rounds; round += 1) {
        for (const replica of [...brokers, ...ingests]) {
          codes.add(await replica.restart());
          await load.progress(2);
        }
      }
      const uploads = await load.finish();
      expect(codes).toEqual(new Set([0]));
      const restarts = scale.rounds * 2 * replicas;
      await report('rolling restart of two brokers and two ingests', {
        restarts,
        acknowledged: uploads,
        stored: uploads,
      });
    },
    timeoutMs,
  );

  /** Connects a device that reconnects when its connection ends, and counts executed commands. */
  async function keepConnected(vehicle: TestVehicle, mqttUrl: string) {
    let executed = 0;
    let running = true;
    const run = async (): Promise<void> => {
      while (running) {
        const device = await connectDevice(mqttUrl, vehicle).catch(() => undefined);
        if (device === undefined) {
          await delay(100);
          continue;
        }
        const closed = new Promise<void>((resolve) => device.client.once('close', () => resolve()));
        const obeying = device.obey(() => {
          executed += 1;
          return { ok: true };
        });
        await Promise.race([obeying.catch(() => undefined), closed]);
        closes.push(() => device.close('cut'));
        await closed;
      }
    };
    void run();
    closes.push(() => {
      running = false;
    });
    return { executed: () => executed };
  }

  it(
    'of the broker causes no false answer to a command',
    async () => {
      const { brokers, mqttUrl } = await openBrokers(1);
      const broker = brokers[0];
      if (!broker) throw new Error('no broker');
      const httpPort = await freePort();
      const command = await spawnPlatform(['command'], {
        ...{ ...settings, HTTP_PORT: String(httpPort), ACK_TIMEOUT_MS: '3000' },
        HTTP_REQUESTS_PER_MINUTE: '1000000',
      });
      closes.push(() => command.end('SIGKILL'));
      const application = await createApplication(db);
      const client = clientWithToken(command.httpUrl, application.token);
      const answers = new Map<string, number>();
      let running = true;
      const drive = async (): Promise<void> => {
        const vehicle = await createVehicle(db, application);
        const device = await keepConnected(vehicle, mqttUrl);
        while (running) {
          const before = device.executed();
          const { status, body } = await client.post('/v1/vehicle/lock', { vehicleId: vehicle.id });
          const executions = device.executed() - before;
          const answer = status === 200 ? '200' : String(body.reason);
          answers.set(answer, (answers.get(answer) ?? 0) + 1);
          expect([answer, truths[answer]?.includes(executions)]).toEqual([answer, true]);
        }
      };
      const all = Promise.all(Array.from({ length: 4 }, drive));
      all.catch(() => undefined);
      const answered = async (more: number): Promise<void> => {
        const goal = (answers.get('200') ?? 0) + more;
        await eventually(async () => expect(answers.get('200') ?? 0).toBeGreaterThanOrEqual(goal), 60_000);
      };
      for (let round = 0; round < scale.rounds; round += 1) {
        await answered(20);
        expect(await broker.restart()).toBe(0);
      }
      await answered(20);
      running = false;
      await all;
      const acknowledged = answers.get('200') ?? 0;
      const others = [...answers.values()].reduce((sum, count) => sum + count, 0) - acknowledged;
      await report('commands during restarts of the broker', { restarts: scale.rounds, acknowledged, others });
    },
    timeoutMs,
  );
});
