import { brokerService } from '@odograph/broker/service';
import type { Database } from '@odograph/database/database';
import { ingestService } from '@odograph/ingest/service';
import { connectDevice } from '@odograph/simulator/device-connection';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { expect, inject, it } from 'vitest';

const platform = await usePlatform([brokerService, ingestService]);

async function countReadings(db: Database, { id }: TestVehicle): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from reading where vehicle_id = ${Number(id)}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** UNIX seconds of the latest state; undefined without one. */
async function latestOf(db: Database, { id }: TestVehicle): Promise<number | undefined> {
  const { rows } = await sql<{ seconds: number }>`select extract(epoch from time)::float8 as seconds
    from vehicle_latest where vehicle_id = ${Number(id)}`.execute(db);
  return rows[0]?.seconds;
}

// The embedded engine runs one transaction at a time, whatever it locks.
it.skipIf(!inject('isNativeDatabase'))(
  'uploads with a first reading of a week that is being compressed delay no live upload',
  async () => {
    const application = await createApplication(platform.db);
    const create = () => createVehicle(platform.db, application);
    const [first, second, other] = [await create(), await create(), await create()];
    const connect = (vehicle: TestVehicle) => connectDevice(platform.mqttUrl, vehicle);
    const [one, two, live] = await Promise.all([connect(first), connect(second), connect(other)]);
    const now = Math.floor(Date.now() / 1000);
    const old = now - 15 * 86_400;
    await one.upload({ timestamp: old });
    await eventually(async () => expect(await countReadings(platform.db, first)).toBe(1));

    await platform.db.transaction().execute(async (compression) => {
      expect(await compressReadings(compression, old, old + 1)).toBe(1);
      // As many as live batches are in flight at once.
      await one.upload([{ timestamp: old + 1 }, { timestamp: now }]);
      await waitForLock(compression);
      await two.upload([{ timestamp: old + 1 }, { timestamp: now }]);
      await live.upload({ timestamp: now });
      await eventually(async () => expect(await latestOf(compression, other)).toBe(now), 5000);
      expect([await latestOf(compression, first), await latestOf(compression, second)]).toEqual([old, undefined]);
    });
    await eventually(async () => {
      expect(await Promise.all([first, second].map((vehicle) => countReadings(platform.db, vehicle)))).toEqual([3, 2]);
    });
    await Promise.all([one, two, live].map((device) => device.close()));
  },
);
