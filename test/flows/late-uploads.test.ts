import { brokerService } from '@odograph/broker/service';
import type { Database } from '@odograph/database/database';
import { compressReadings } from '@odograph/ingest/maintenance/policies';
import { ingestService } from '@odograph/ingest/service';
import { createLogger } from '@odograph/runtime/logger';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle, type TestApplication, type TestVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { waitForLock } from '@odograph/testkit/wait-for-lock';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

let platform: TestPlatform;
let application: TestApplication;
let first: TestVehicle;
let second: TestVehicle;
let other: TestVehicle;
let one: DeviceConnection;
let two: DeviceConnection;
let live: DeviceConnection;

const now = Math.floor(Date.now() / 1000);
/** More jobs of live uploads than ingest takes at once. */
const manyJobs = 70;

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

const expectLatest = (db: Database, vehicle: TestVehicle, seconds: number) =>
  eventually(async () => expect(await latestOf(db, vehicle)).toBe(seconds), 15_000);

// The embedded engine runs one transaction at a time, whatever it locks.
describe.skipIf(!inject('isNativeDatabase'))('no live upload waits', () => {
  // Vitest runs no hooks in a file whose tests are all skipped: a platform started at the top level would never stop.
  beforeAll(async () => {
    platform = await startTestPlatform([brokerService, ingestService]);
    application = await createApplication(platform.db);
    const vehicleOf = () => createVehicle(platform.db, application);
    [first, second, other] = await Promise.all([vehicleOf(), vehicleOf(), vehicleOf()]);
    const connect = (vehicle: TestVehicle) => connectDevice(platform.mqttUrl, vehicle);
    [one, two, live] = await Promise.all([connect(first), connect(second), connect(other)]);
  });
  afterAll(async () => {
    await Promise.all([one?.close(), two?.close(), live?.close()]);
    await platform?.stop();
  });

  it('while a week of readings is compressed, whichever devices send readings of that week', async () => {
    const old = now - 15 * 86_400;
    await one.upload({ timestamp: old, status: { ignition: true } });
    await eventually(async () => expect(await countReadings(platform.db, first)).toBe(1));

    let compression: Promise<number> | undefined;
    await platform.db.transaction().execute(async (writer) => {
      await sql`insert into reading (vehicle_id, time, application_id, device_id, received_at)
        values (${Number(first.id)}, to_timestamp(${old + 1}), ${application.id}, 'test', now())`.execute(writer);
      compression = compressReadings(platform.db, 7, createLogger('silent'));
      await waitForLock(writer);
      await one.upload([{ timestamp: old + 2 }, { timestamp: now }]);
      for (let job = 0; job < manyJobs; job += 1) {
        await two.upload([{ timestamp: now }, { timestamp: old + 3 + job }, { timestamp: now + 1 }]);
        await one.upload({ timestamp: now + job });
      }
      await live.upload({ timestamp: now });
      await expectLatest(writer, other, now);
      await expectLatest(writer, first, now + manyJobs - 1);
    });
    await compression;
    await eventually(async () => {
      expect(await countReadings(platform.db, first)).toBe(3 + manyJobs);
      expect(await countReadings(platform.db, second)).toBe(2 + manyJobs);
    }, 30_000);
  });

  it('while late uploads of other devices are stored, however many live uploads those send', async () => {
    const late = now - 3600;
    await one.upload({ timestamp: now + 100, sequence: 1 });
    await expectLatest(platform.db, first, now + 100);
    const before = await countReadings(platform.db, first);

    await platform.db.transaction().execute(async (holder) => {
      await sql`select from device_sequence where device_id = ${first.deviceId} for update`.execute(holder);
      await one.upload({ timestamp: late, sequence: 2 });
      await waitForLock(holder);
      for (let job = 0; job < manyJobs; job += 1) await one.upload({ timestamp: now + 101 + job });
      await live.upload({ timestamp: now + 1 });
      await expectLatest(holder, other, now + 1);
    });
    await eventually(async () => expect(await countReadings(platform.db, first)).toBe(before + 1 + manyJobs), 30_000);
  });
});
