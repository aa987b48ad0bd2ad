import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectAndUpload } from './parts/raw-device.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 600_000;
const start = 1_760_000_000;
let testbed: Testbed;

/** Creates devices of a new application, all with one secret. */
async function createDevices(count: number): Promise<{ deviceIds: string[]; secret: string; applicationId: number }> {
  const { id, appId } = await createApplication(testbed.db);
  const secret = createSecret();
  const { rows } = await sql<{ id: string }>`
    with fleet as (insert into vehicle (application_id, plate)
        select ${id}, 'S' || n from generate_series(1, ${count}::integer) as n returning id),
      devices as (insert into device (id, model_id, application_id, secret_sha256)
        select ${appId} || '-' || id, 'generic', ${id}, ${hashSecret(secret)} from fleet returning id)
    insert into device_link (device_id, vehicle_id, period)
    select ${appId} || '-' || id, id, tstzrange(null, null) from fleet returning device_id as id`.execute(testbed.db);
  return { deviceIds: rows.map((row) => row.id), secret, applicationId: id };
}

describe.skipIf(!hasRedisServer)('devices that reconnect all at once', () => {
  beforeEach(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterEach(() => testbed.close());

  it(
    'are all admitted, and each of their uploads is stored',
    async () => {
      const { deviceIds, secret, applicationId } = await createDevices(scale.stormDevices);
      let refused = 0;
      const comeBack = async (deviceId: string, sequence: number): Promise<Socket> => {
        const payload = JSON.stringify({ timestamp: start + sequence, sequence });
        for (;;) {
          try {
            return await connectAndUpload(testbed.mqttPort, deviceId, secret, payload);
          } catch {
            refused += 1;
            await delay(200 + 1800 * Math.random());
          }
        }
      };
      let sockets: Socket[] = [];
      let slowestWaveMs = 0;
      for (const wave of [1, 2]) {
        for (const socket of sockets) socket.destroy();
        const begun = Date.now();
        sockets = await Promise.all(deviceIds.map((deviceId) => comeBack(deviceId, wave)));
        slowestWaveMs = Math.max(slowestWaveMs, Date.now() - begun);
      }
      for (const socket of sockets) socket.destroy();
      await eventually(async () => {
        const { rows } = await sql<{ stored: number }>`select count(*)::int as stored from reading
          where application_id = ${applicationId}`.execute(testbed.db);
        expect(rows[0]?.stored).toBe(2 * scale.stormDevices);
      }, timeoutMs / 2);
      await report('reconnect storm', { devices: scale.stormDevices, refusedAttempts: refused, slowestWaveMs });
    },
    timeoutMs,
  );
});
