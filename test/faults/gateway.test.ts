import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { encodeMessage } from '@odograph/codec/encode-messages';
import { type Database, openDatabase } from '@odograph/database/database';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createSource, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasRedisServer } from '@odograph/testkit/programs';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { countReadings, startTeltonikaLoad } from './parts/teltonika-load.fixture.ts';
import { report } from './parts/testbed.fixture.ts';
import { TraccarForwarder } from './parts/traccar-forwarder.fixture.ts';

const timeoutMs = 240_000 + scale.rounds * 30_000;
/** Draining the queue can take long on a busy machine. */
const drainMs = 180_000;
const maxPauseMs = 1500;

type ProcessName = 'gateway' | 'ingest' | 'Redis';
/** The short run kills it with the others, and below while Traccar sends. */
const gatewayAlone: [string, ProcessName[]][] = scale.isFullLength ? [['the gateway is killed', ['gateway']]] : [];
let db: Database;
let directory: string;
let redis: RedisServer;
let settings: Record<string, string>;
let gateway: ChildPlatform;
let ingest: ChildPlatform;
let broker: ChildPlatform;

/** The broker, over which commands come to the gateway, is never killed. */
const start = async (...services: string[]) =>
  spawnPlatform(services, { ...settings, HTTP_PORT: String(await freePort()) });

async function kill(victims: readonly ProcessName[]): Promise<void> {
  const running = { gateway, ingest, Redis: redis };
  await Promise.all(victims.map((victim) => running[victim].end('SIGKILL')));
}

async function restart(victims: readonly ProcessName[]): Promise<void> {
  if (victims.includes('Redis')) redis = await spawnRedis(directory, redis.port);
  if (victims.includes('gateway')) gateway = await start('gateway');
  if (victims.includes('ingest')) ingest = await start('ingest');
}

describe.skipIf(!hasRedisServer)('a gateway', () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
    db = openDatabase({ url: testDatabaseUrl(), name: 'faults', size: 2 });
    redis = await spawnRedis(directory);
    settings = {
      ...{ DATABASE_URL: testDatabaseUrl(), REDIS_URL: redis.url, DATA_DIR: directory, LOG_LEVEL: 'error' },
      ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys },
      ...{ TELTONIKA_PORT: String(await freePort()), MQTT_PORT: String(await freePort()) },
    };
    [broker, gateway, ingest] = await Promise.all([start('broker'), start('gateway'), start('ingest')]);
  }, timeoutMs);
  afterAll(async () => {
    await Promise.all([broker.end('SIGKILL'), kill(['gateway', 'ingest', 'Redis'])]);
    await db.destroy();
    await rm(directory, { recursive: true, force: true });
  });

  describe('stores every record acknowledged to a Teltonika device exactly once when at a random time', () => {
    it.each<[string, ProcessName[]]>([
      ...gatewayAlone,
      ['gateway, ingest and Redis are killed at once', ['gateway', 'ingest', 'Redis']],
    ])(
      '%s',
      async (name, victims) => {
        const random = createRandom(scale.seed);
        const load = await startTeltonikaLoad(db, {
          ...{ port: Number(settings['TELTONIKA_PORT']), devices: scale.devices, pauseMs: scale.uploadPauseMs },
          transports: ['tcp', 'tcp', 'tcp', 'udp'],
        });
        for (let round = 0; round < scale.rounds; round += 1) {
          await load.progress();
          await delay(random() * maxPauseMs);
          await kill(victims);
          await delay((random() * maxPauseMs) / 3);
          await restart(victims);
        }
        await load.progress();
        const acknowledged = await load.finish();
        expect(acknowledged).toBeGreaterThan(0);
        await report(`Teltonika devices while ${name}`, { rounds: scale.rounds, acknowledged, lost: 0, twice: 0 });
      },
      timeoutMs,
    );
  });

  it(
    'gets every position of Traccar over a restart with the documented settings, and not with those that Traccar has by itself',
    async () => {
      const application = await createApplication(db);
      const { secret } = await createSource(db, application, { format: 'traccar' });
      const post = async (body: string): Promise<boolean> => {
        const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` };
        const answer = await fetch(`${gateway.httpUrl}/in/traccar`, { method: 'POST', headers, body }).catch(
          () => undefined,
        );
        await answer?.arrayBuffer();
        return answer?.ok === true;
      };
      // A fifth of Traccar's 100 ms, as the restart here is shorter than one in operation.
      const rules = [
        { delayMs: 20, count: 12, limit: 100_000 },
        { delayMs: 20, count: 10, limit: 100 },
      ];
      const forwarders = await Promise.all(
        rules.map(async (rule) => ({
          ...(await createVehicle(db, application, { model: 'traccar' })),
          forwarder: new TraccarForwarder(rule, post),
        })),
      );
      const firstSeconds = Math.floor(Date.now() / 1000) - 200;
      let sent = 0;
      const timer = setInterval(() => {
        for (const { deviceId, forwarder } of forwarders) {
          const reading = { timestamp: firstSeconds + sent / 100, location: { latitude: 48.85, longitude: 2.35 } };
          forwarder.forward(JSON.stringify(encodeMessage('traccar', deviceId, reading)));
        }
        sent += 1;
      }, 10);
      await eventually(
        async () => expect(forwarders.every(({ forwarder }) => forwarder.delivered > 20)).toBe(true),
        drainMs,
      );
      await kill(['gateway']);
      await eventually(async () => expect(forwarders[1]?.forwarder.dropped).toBeGreaterThan(0), drainMs);
      await restart(['gateway']);
      clearInterval(timer);
      await eventually(async () => {
        expect(forwarders.map(({ forwarder }) => forwarder.pending)).toEqual([0, 0]);
      }, drainMs);
      const [documented, standard] = forwarders.map(({ forwarder: { delivered, dropped } }) => ({
        delivered,
        dropped,
      }));
      expect(documented).toEqual({ delivered: sent, dropped: 0 });
      expect(standard?.dropped).toBeGreaterThan(0);
      const ids = forwarders.map(({ id }) => Number(id));
      await eventually(async () => {
        const counts = await countReadings(db, ids);
        const [stored, storedOfStandard] = ids.map((id) => counts.get(id));
        expect(stored).toBe(sent);
        // A killed gateway may store a position without answering: Traccar then counts it as dropped.
        expect(storedOfStandard).toBeGreaterThanOrEqual(standard?.delivered ?? Infinity);
        expect(storedOfStandard).toBeLessThan(sent);
      }, drainMs);
      await report('Traccar over a restart of the gateway', { sent, dropped: standard?.dropped ?? 0 });
    },
    timeoutMs,
  );
});
