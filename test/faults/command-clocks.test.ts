import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { type ApiAnswer, clientWithToken } from '@odograph/testkit/api-client';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { spawnRedis } from '@odograph/testkit/redis-server';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSteppedClock, type SteppedClock } from './parts/stepped-clock.fixture.ts';

const timeoutMs = 120_000;
const ackTimeoutMs = 4000;
/** Tolerance on a busy machine; far below the hour of the jump. */
const marginMs = 20_000;
const hourMs = 3_600_000;

describe.skipIf(!hasRedisServer)('when the clock of the platform jumps', () => {
  const closes: (() => unknown)[] = [];
  let clock: SteppedClock;
  let child: ChildPlatform;
  let application: TestApplication;
  let vehicle: TestVehicle;
  let device: DeviceConnection;
  let executed = 0;

  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
    closes.push(() => rm(directory, { recursive: true, force: true }));
    const db = openDatabase({ url: testDatabaseUrl(), name: 'faults', size: 1 });
    closes.push(() => db.destroy());
    const redis = await spawnRedis(directory);
    closes.push(() => redis.end('SIGKILL'));
    clock = await createSteppedClock(join(directory, 'clock'));
    const mqttPort = await freePort();
    child = await spawnPlatform(['broker', 'command', 'query'], {
      ...{ DATABASE_URL: testDatabaseUrl(), REDIS_URL: redis.url, DATA_DIR: directory, LOG_LEVEL: 'warn' },
      ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys, ACK_TIMEOUT_MS: String(ackTimeoutMs) },
      ...{ HTTP_PORT: String(await freePort()), MQTT_PORT: String(mqttPort), HTTP_REQUESTS_PER_MINUTE: '60' },
      ...clock.settings,
    });
    closes.push(() => child.end('SIGKILL'));
    application = await createApplication(db);
    vehicle = await createVehicle(db, application);
    device = await connectDevice(`mqtt://127.0.0.1:${mqttPort}`, vehicle);
    closes.push(() => device.close('cut'));
    await device.obey(() => {
      executed += 1;
      return { ok: true };
    });
  }, timeoutMs);
  afterAll(async () => {
    for (const close of closes.reverse()) await close();
  });

  async function lock(): Promise<[answer: ApiAnswer, executions: number]> {
    const before = executed;
    const start = performance.now();
    const answer = await clientWithToken(child.httpUrl, application.token).post('/v1/vehicle/lock', {
      vehicleId: vehicle.id,
    });
    expect(performance.now() - start).toBeLessThan(ackTimeoutMs + marginMs);
    return [answer, executed - before];
  }

  it(
    'commands are answered in time with their outcome, and connections, tokens and limits hold',
    async () => {
      expect(await lock()).toMatchObject([{ status: 200 }, 1]);
      // Behind the database's clock: the broker would still send a command that has expired, so the device checks too.
      await clock.step(-hourMs);
      expect(await lock()).toMatchObject([{ status: 200 }, 1]);
      // Ahead of it, every command has expired when the broker sees it: none is executed, and none is reported as executed.
      await clock.step(hourMs);
      expect(await lock()).toMatchObject([{ status: 504, body: { reason: 'NO_ACKNOWLEDGEMENT' } }, 0]);
      await clock.step(0);
      expect(await lock()).toMatchObject([{ status: 200 }, 1]);
      expect(device.client.connected).toBe(true);
    },
    timeoutMs,
  );

  it(
    'a throttled client is admitted after a minute at most, not after the hour',
    async () => {
      const client = clientWithToken(child.httpUrl, application.token);
      await clock.step(hourMs);
      let refused = await client.get('/v1/vehicle/actions');
      while (refused.status !== 429) refused = await client.get('/v1/vehicle/actions');
      await clock.step(-hourMs);
      refused = await client.get('/v1/vehicle/actions');
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    },
    timeoutMs,
  );
});
