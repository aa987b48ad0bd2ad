import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, unthrottled } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 900_000;
const readingsPerUpload = 500;
const start = 1_759_000_000;
let testbed: Testbed;

interface LagRow {
  lag: number;
  stored: number;
}

describe.skipIf(!hasRedisServer)('a device that uploads a long backlog', () => {
  beforeEach(async () => {
    testbed = await openTestbed();
  }, timeoutMs);
  afterEach(() => testbed.close());

  it(
    'has its last reading stored, while live devices continue',
    async () => {
      const load = await testbed.startLoad({ pauseMs: Math.max(100, scale.uploadPauseMs) });
      await load.progress(3);
      const vehicle = await createVehicle(testbed.db, await createApplication(testbed.db, unthrottled));
      const device = await connectDevice(testbed.mqttUrl, vehicle);
      const before = load.acknowledged();
      const uploads: Promise<void>[] = [];
      for (let first = 1; first <= scale.backlogReadings; first += readingsPerUpload) {
        const count = Math.min(readingsPerUpload, scale.backlogReadings - first + 1);
        const readings = Array.from({ length: count }, (_one, index) => ({
          timestamp: start + first + index,
          sequence: first + index,
          location: { latitude: 48.8566, longitude: 2.3522, speed: 50 },
        }));
        uploads.push(device.upload(readings));
        if (uploads.length % 20 === 0) await uploads.at(-20);
      }
      await Promise.all(uploads);
      let worst = 0;
      const ids = load.vehicles.map(({ id }) => Number(id));
      await eventually(async () => {
        // Age of the newest stored reading of the slowest live device.
        const { rows } = await sql<LagRow>`select
            (select extract(epoch from clock_timestamp() - min(received_at))::float8 from vehicle_latest
              where vehicle_id = any(${ids}::integer[])) as lag,
            (select count(*)::int from reading where vehicle_id = ${Number(vehicle.id)}) as stored`.execute(testbed.db);
        worst = Math.max(worst, rows[0]?.lag ?? 0);
        expect(rows[0]?.stored).toBe(scale.backlogReadings);
      }, timeoutMs / 2);
      const live = load.acknowledged() - before;
      await device.close();
      await load.finish();
      const worstLiveLagSeconds = Math.round(worst * 10) / 10;
      await report('a long backlog', { readings: scale.backlogReadings, liveUploads: live, worstLiveLagSeconds });
    },
    timeoutMs,
  );
});
