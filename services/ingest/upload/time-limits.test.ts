import type { QueuedUpload } from '@odograph/contracts/queues';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { ingestService } from '../service.ts';
import { openIngest } from './uploads.fixture.ts';

const chunksPerHour = 5;
/** Weeks that no other test uses. The database is shared, so each run takes years of its own. */
const firstDay = Date.UTC(1972, 0, 1) / 1000 + Math.floor(Math.random() * 10) * 400 * 86_400;
const month = 30 * 86_400;

const platform = await usePlatform([ingestService], {}, { maxReadingAgeDays: 730, maxNewChunksPerHour: chunksPerHour });
const queue = openIngest(platform);
const application = await createApplication(platform.db);
afterAll(() => queue.close());

const ingest = (...uploads: QueuedUpload[]) => queue.ingest(...uploads);

const upload = ({ deviceId }: TestVehicle, times: number[], quarantineId?: string): QueuedUpload => ({
  deviceId,
  receivedAtMs: Date.now(),
  text: JSON.stringify(times.map((timestamp) => ({ timestamp, status: { ignition: true } }))),
  ...(quarantineId !== undefined && { quarantineId }),
});

async function storedTimes({ id }: TestVehicle): Promise<number[]> {
  const { rows } = await sql<{ time: number }>`select extract(epoch from time)::float8 as time from reading
    where vehicle_id = ${Number(id)} order by time`.execute(platform.db);
  return rows.map(({ time }) => time);
}

async function quarantine({ deviceId }: TestVehicle) {
  const { rows } = await sql<{ id: string; faults: { index: number; reason: string }[]; resolved: boolean }>`
    select id::text, faults, resolved_at is not null as resolved from quarantine where device_id = ${deviceId}
    order by id`.execute(platform.db);
  return rows;
}

describe('a reading older than two years', () => {
  it('goes to quarantine alone and is stored by a replay', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const now = Math.floor(Date.now() / 1000);
    const old = now - 731 * 86_400;
    await ingest(upload(vehicle, [old, now - 729 * 86_400, now]));
    expect(await storedTimes(vehicle)).toEqual([now - 729 * 86_400, now]);
    const [row] = await quarantine(vehicle);
    expect(row).toMatchObject({ faults: [{ index: 0, reason: 'TOO_OLD' }], resolved: false });
    await ingest(upload(vehicle, [old, now - 729 * 86_400, now], row?.id));
    expect(await storedTimes(vehicle)).toEqual([old, now - 729 * 86_400, now]);
    expect(await quarantine(vehicle)).toMatchObject([{ resolved: true }]);
  });
});

describe('readings that need new chunks', () => {
  it('are stored up to the budget of their device; the others go to quarantine; existing chunks are free', async () => {
    const [vehicle, other] = [
      await createVehicle(platform.db, application),
      await createVehicle(platform.db, application),
    ];
    const times = Array.from({ length: 2 * chunksPerHour }, (_, index) => firstDay + index * month);
    // A replay has no age limit, but the same budget.
    await ingest(upload(vehicle, times, '0'));
    const stored = await storedTimes(vehicle);
    expect(stored).toHaveLength(chunksPerHour);
    const [row] = await quarantine(vehicle);
    expect(row?.faults).toHaveLength(chunksPerHour);
    expect(new Set(row?.faults.map(({ reason }) => reason))).toEqual(new Set(['TOO_MANY_CHUNKS']));
    await ingest(upload(vehicle, times, row?.id));
    expect(await storedTimes(vehicle)).toEqual(stored);
    await ingest(upload(other, times, '0'));
    expect(await storedTimes(other)).toEqual(times);
    await ingest(upload(vehicle, times, row?.id));
    expect(await storedTimes(vehicle)).toEqual(times);
    expect(await quarantine(vehicle)).toMatchObject([{ resolved: true }]);
  });

  it('are not charged to a device that a source of another application names', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const stranger = await createApplication(platform.db);
    const weeks = Array.from({ length: chunksPerHour + 1 }, (_, index) => firstDay + 10 * 86_400 + index * month);
    const own = weeks.slice(-1);
    await ingest({ ...upload(vehicle, weeks.slice(0, -1), '0'), applicationId: stranger.id });
    await ingest(upload(vehicle, own, '0'));
    expect(await storedTimes(vehicle)).toEqual(own);
  });
});

describe('the earliest time of a vehicle', () => {
  it('is that of its oldest reading, however late it arrives', async () => {
    const vehicle = await createVehicle(platform.db, application);
    const now = Math.floor(Date.now() / 1000);
    const earliest = async () => {
      const { rows } = await sql<{ time: number }>`select extract(epoch from earliest_time)::float8 as time
        from vehicle_latest where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
      return rows[0]?.time;
    };
    await ingest(upload(vehicle, [now - 10, now]));
    expect(await earliest()).toBe(now - 10);
    await ingest(upload(vehicle, [now - 60, now - 5]));
    await ingest(upload(vehicle, [now - 3]));
    expect(await earliest()).toBe(now - 60);
  });
});
