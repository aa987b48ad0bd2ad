import { randomUUID } from 'node:crypto';
import { accessService } from '@odograph/access/service';
import { fleetService } from '@odograph/fleet/service';
import { ingestService } from '@odograph/ingest/service';
import { countUnfinishedJobs, openQueue } from '@odograph/queue/queues';
import { registrationService } from '@odograph/registration/service';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';

const platform = await usePlatform(
  [ingestService, fleetService, accessService, registrationService],
  {},
  { purgeIntervalMs: 300 },
);
const queue = openQueue('uploads', { redisUrl: platform.config.REDIS_URL, prefix: platform.config.QUEUE_PREFIX });
const application = await createApplication(platform.db);
const api = platform.as(application.token);
afterAll(() => queue.close());

const start = 1_700_000_000;

async function upload(deviceId: string, batch: number): Promise<void> {
  const readings = Array.from({ length: 50 }, (_unused, index) => ({
    timestamp: start + batch * 50 + index,
    location: { latitude: 48, longitude: 2 },
    status: { ignition: true },
  }));
  const uploads = [{ deviceId, receivedAtMs: Date.now(), text: JSON.stringify(readings) }];
  await queue.add('uploads', { uploads, devices: 1, bytes: 1 }, { jobId: randomUUID() });
}

const drained = async () => {
  expect(await countUnfinishedJobs(queue)).toBe(0);
};

async function count(condition: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${condition}`.execute(platform.db);
  return Number(rows[0]?.count);
}

describe('a vehicle that is deleted while it uploads', () => {
  it('leaves no reading behind, and later uploads are not kept', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const id = Number(vehicle.id);
    const uploading = (async () => {
      for (let batch = 0; batch < 60; batch += 1) await upload(vehicle.deviceId, batch);
    })();
    const ofVehicle = sql`reading where vehicle_id = ${id}`;
    await eventually(async () => expect(await count(ofVehicle)).toBeGreaterThan(0));
    expect((await api.delete('/v1/vehicle', { id: vehicle.id })).status).toBe(200);
    await uploading;
    await eventually(drained, 20_000);
    await upload(vehicle.deviceId, 100);
    await eventually(drained, 20_000);
    await eventually(async () => {
      const row = platform.db.selectFrom('vehicle_purge').select('verified_at').where('vehicle_id', '=', id);
      expect((await row.executeTakeFirstOrThrow()).verified_at).not.toBeNull();
    }, 30_000);
    for (const left of [
      ofVehicle,
      sql`vehicle where id = ${id}`,
      sql`vehicle_latest where vehicle_id = ${id}`,
      sql`device_link where vehicle_id = ${id}`,
      sql`reading_change where ${id} = any(vehicle_ids)`,
      sql`trip_touched where ${id} = any(vehicle_ids)`,
      sql`trip_work where vehicle_id = ${id}`,
    ]) {
      expect(await count(left)).toBe(0);
    }
    const { rows } = await sql<{ reason: string }>`select distinct fault->>'reason' as reason
      from quarantine, jsonb_array_elements(faults) as fault
      where device_id = ${vehicle.deviceId}`.execute(platform.db);
    expect(rows).toEqual([{ reason: 'DEVICE_NOT_LINKED' }]);
  }, 90_000);

  it('frees its device for another vehicle, which does not get earlier readings', async () => {
    const [old, next] = [await createVehicle(platform.db, application), await createVehicle(platform.db, application)];
    await api.delete('/v1/device', { deviceId: next.deviceId });
    await api.delete('/v1/vehicle', { id: old.id });
    const link = () => api.post('/v1/device', { vehicleId: next.id, deviceId: old.deviceId });
    await eventually(async () => {
      expect(await count(sql`device_link where device_id = ${old.deviceId}`)).toBe(0);
    }, 30_000);
    expect((await link()).status).toBe(200);
    await upload(old.deviceId, 0);
    await eventually(drained);
    expect(await count(sql`reading where vehicle_id = ${Number(next.id)}`)).toBe(0);
  }, 60_000);
});
