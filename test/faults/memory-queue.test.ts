import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { holderPid } from '@odograph/embedded/process/engine-owner.fixture';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createRandom } from '@odograph/simulator/simulated-vehicle';
import { type ChildPlatform, spawnPlatform } from '@odograph/testkit/child-platform';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { copyTemplate } from '@odograph/testkit/global-setup';
import { testAdminToken, testEncryptionKeys } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';

const { rounds } = scale;
const timeoutMs = 120_000 + rounds * 60_000;
let dataDirectory: string;
let settings: Record<string, string>;
let platform: ChildPlatform;

/** Starts every service on embedded engines, with a PATH without redis-server. */
const start = () => spawnPlatform([], settings);

async function killEverything(): Promise<void> {
  const databasePid = holderPid(join(dataDirectory, 'timescaledb'));
  const end = platform.end('SIGKILL');
  process.kill(databasePid, 'SIGKILL');
  await end;
}

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'odograph-memory-queue-'));
  await copyTemplate('migrated', join(dataDirectory, 'timescaledb'));
  settings = {
    ...{ DATABASE_URL: '', REDIS_URL: '', DATA_DIR: dataDirectory, PATH: '/nonexistent', LOG_LEVEL: 'warn' },
    ...{ HTTP_PORT: String(await freePort()), MQTT_PORT: String(await freePort()) },
    ...{ ADMIN_TOKEN: testAdminToken, ENCRYPTION_KEYS: testEncryptionKeys },
  };
  platform = await start();
}, timeoutMs);
afterAll(async () => {
  await platform?.end('SIGKILL');
  // The engines' processes exit when they detect that their parent has exited.
  await eventually(() => rm(dataDirectory, { recursive: true, force: true }), 30_000);
});

/** Creates a vehicle with a device over the operator routes, and a client of its application. */
async function provision() {
  const { admin } = platform;
  const { appId, appKey } = (await admin.post('/v1/x/admin/applications', { name: 'Acme' })).body;
  const vehicle = (
    await admin.post('/v1/x/admin/vehicles', { appId, plate: 'AB-123-CD', brand: 'Renault', model: 'Zoe' })
  ).body;
  const { deviceId, secret } = (
    await admin.post('/v1/x/admin/devices', { id: 'memory-queue', model: 'generic', vehicleId: vehicle.id, appId })
  ).body;
  const { token } = (await platform.anonymous.post('/v1/login', { appId, appKey })).body;
  return { vehicleId: vehicle.id as string, deviceId, secret, token };
}

describe('on a machine without redis-server', () => {
  it(
    'an upload with a PUBACK survives SIGKILL of every process',
    async () => {
      const random = createRandom(scale.seed);
      const { vehicleId, deviceId, secret, token } = await provision();
      const from = Math.floor(Date.now() / 1000) - 1000;
      const acknowledged: number[] = [];
      let timestamp = from;
      for (let round = 0; round < rounds; round += 1) {
        const device = await connectDevice(`mqtt://127.0.0.1:${settings['MQTT_PORT']}`, { deviceId, secret });
        const uploads = (async () => {
          for (;;) {
            timestamp += 0.25;
            await device.upload({ timestamp });
            acknowledged.push(timestamp);
          }
        })().catch(() => undefined);
        await eventually(async () => expect(acknowledged.length).toBeGreaterThan(10 * (round + 1)), 60_000);
        await delay(random() * 500);
        await killEverything();
        await uploads;
        await device.close('cut').catch(() => undefined);
        platform = await start();
      }
      const api = platform.as(token);
      const { body } = await api.get(`/v1/vehicle/${vehicleId}/history?from=${from}&until=${timestamp}&limit=10000`);
      const stored = new Set(body.status.map((reading: { timestamp: number }) => reading.timestamp));
      expect(acknowledged.filter((reading) => !stored.has(reading))).toEqual([]);
    },
    timeoutMs,
  );
});
