import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { type RedisServer, spawnRedis } from '@odograph/testkit/redis-server';
import { testAdminToken } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';

const start = 1_760_000_000;
const rounds = 2;
const uploadsPerRound = 40;
/** Starting a process several times takes long on a busy machine. */
const timeoutMs = 240_000;
const db = openDatabase({ url: inject('databaseUrl'), name: 'test', size: 2 });

let directory: string;
let redis: RedisServer;
let settings: Record<string, string>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'odograph-faults-'));
  redis = await spawnRedis(directory);
  settings = {
    DATABASE_URL: inject('databaseUrl'),
    REDIS_URL: redis.url,
    ADMIN_TOKEN: testAdminToken,
    DATA_DIR: directory,
    MQTT_PORT: String(await freePort()),
    LOG_LEVEL: 'warn',
  };
});
afterEach(async () => {
  await redis.end('SIGKILL');
  await rm(directory, { recursive: true, force: true });
});

/** Numbered uploads that are sent again until they are acknowledged, over as many connections as it takes. */
class Uploader {
  readonly acknowledged: number[] = [];
  readonly #vehicle: TestVehicle;
  readonly #url: string;
  #running = true;
  #done: Promise<void>;

  constructor(vehicle: TestVehicle, url: string) {
    this.#vehicle = vehicle;
    this.#url = url;
    this.#done = this.#run();
  }

  async #connect(): Promise<DeviceConnection | undefined> {
    return connectDevice(this.#url, this.#vehicle, { connectTimeout: 2000 }).catch(() => undefined);
  }

  async #run(): Promise<void> {
    let number = 0;
    while (this.#running) {
      const box = await this.#connect();
      const closed = new Promise<void>((resolve) => box?.client.once('close', () => resolve()));
      while (box?.client.connected && this.#running) {
        const next = number + 1;
        const upload = box.upload({ timestamp: start + next, sequence: next }).then(() => true);
        // Not acknowledged when the connection ends first: sent again over the next one.
        if (!(await Promise.race([upload, closed.then(() => false)]).catch(() => false))) break;
        number = next;
        this.acknowledged.push(next);
      }
      await box?.close('cut');
    }
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }
}

async function storedSequences(vehicle: TestVehicle): Promise<number[]> {
  const { rows } = await sql<{ sequence: number }>`
    select sequence::int as sequence from reading where vehicle_id = ${Number(vehicle.id)} order by time`.execute(db);
  return rows.map(({ sequence }) => sequence);
}

async function acceptsConnections(port: string): Promise<void> {
  await eventually(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = createConnection({ port: Number(port), host: '127.0.0.1' }, () => {
          socket.destroy();
          resolve();
        });
        socket.on('error', reject);
      }),
    30_000,
  );
}

/** Waits until a condition holds of what was acknowledged so far. */
async function acknowledgedAtLeast(uploaders: readonly Uploader[], count: number): Promise<void> {
  await eventually(async () => {
    for (const { acknowledged } of uploaders) expect(acknowledged.length).toBeGreaterThan(count);
  }, 60_000);
}

async function startUploaders(): Promise<{ vehicles: TestVehicle[]; uploaders: Uploader[] }> {
  const application = await createApplication(db);
  const vehicles = await Promise.all(Array.from({ length: 10 }, () => createVehicle(db, application)));
  await acceptsConnections(settings['MQTT_PORT'] ?? '');
  return {
    vehicles,
    uploaders: vehicles.map((vehicle) => new Uploader(vehicle, `mqtt://127.0.0.1:${settings['MQTT_PORT']}`)),
  };
}

/** Every acknowledged upload is stored; nothing is stored twice, since the key forbids it, nor made up. */
async function nothingIsLost(vehicles: readonly TestVehicle[], uploaders: readonly Uploader[]): Promise<void> {
  await Promise.all(uploaders.map((uploader) => uploader.stop()));
  for (const [index, vehicle] of vehicles.entries()) {
    const acknowledged = uploaders[index]?.acknowledged ?? [];
    await eventually(
      async () => expect(await storedSequences(vehicle)).toEqual(expect.arrayContaining(acknowledged)),
      60_000,
    );
    const stored = await storedSequences(vehicle);
    expect(stored.length - acknowledged.length).toBeLessThanOrEqual(1);
  }
}

describe('no acknowledged upload is lost when, in the middle of a load,', () => {
  it(
    'ingest is killed',
    async () => {
      const broker = await spawnPlatform(['broker'], { ...settings, HTTP_PORT: String(await freePort()) });
      const ingestSettings = { ...settings, HTTP_PORT: String(await freePort()) };
      let ingest = await spawnPlatform(['ingest'], ingestSettings);
      const { vehicles, uploaders } = await startUploaders();
      for (let round = 1; round <= rounds; round += 1) {
        await acknowledgedAtLeast(uploaders, round * uploadsPerRound);
        await ingest.end('SIGKILL');
        ingest = await spawnPlatform(['ingest'], ingestSettings);
      }
      await nothingIsLost(vehicles, uploaders);
      await Promise.all([broker.end('SIGTERM'), ingest.end('SIGTERM')]);
    },
    timeoutMs,
  );

  it(
    'the whole platform is killed',
    async () => {
      const platformSettings = { ...settings, HTTP_PORT: String(await freePort()) };
      let platform = await spawnPlatform([], platformSettings);
      const { vehicles, uploaders } = await startUploaders();
      for (let round = 1; round <= rounds; round += 1) {
        await acknowledgedAtLeast(uploaders, round * uploadsPerRound);
        await platform.end('SIGKILL');
        platform = await spawnPlatform([], platformSettings);
      }
      await nothingIsLost(vehicles, uploaders);
      expect(await platform.end('SIGTERM')).toBe(0);
    },
    timeoutMs,
  );

  it(
    'Redis is killed',
    async () => {
      const platform = await spawnPlatform(['broker', 'ingest'], { ...settings, HTTP_PORT: String(await freePort()) });
      const { vehicles, uploaders } = await startUploaders();
      for (let round = 1; round <= rounds; round += 1) {
        await acknowledgedAtLeast(uploaders, round * uploadsPerRound);
        await redis.end('SIGKILL');
        redis = await spawnRedis(directory, redis.port);
      }
      await acknowledgedAtLeast(uploaders, (rounds + 1) * uploadsPerRound);
      await nothingIsLost(vehicles, uploaders);
      expect(await platform.end('SIGTERM')).toBe(0);
    },
    timeoutMs,
  );
});
