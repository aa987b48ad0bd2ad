import { openSealer } from '@odograph/runtime/sealing';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createVehicle, type TestVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { decodeUploads } from './decode-uploads.ts';
import { BatchStore } from './store-batch.ts';

const platform = await usePlatform([]);
const application = await createApplication(platform.db);
const batches = new BatchStore(platform.db, await openSealer(platform.config, 'quarantine'));

async function store(...uploads: [TestVehicle, ...object[]][]): Promise<void> {
  const described = uploads.map(([{ deviceId }, ...readings]) => ({
    deviceId,
    receivedAtMs: Date.now(),
    text: JSON.stringify(readings),
  }));
  const stored = await batches.store(decodeUploads(described, Date.now()));
  expect(stored.quarantined).toEqual([]);
}

interface ReadingRow {
  seconds: number;
  latitude: number | null;
  mileage: number | null;
  soc: number | null;
}

async function readings({ id }: TestVehicle): Promise<ReadingRow[]> {
  const { rows } = await sql<ReadingRow>`select extract(epoch from time)::float8 as seconds, latitude, mileage, soc
    from reading where vehicle_id = ${Number(id)} order by time`.execute(platform.db);
  return rows;
}

/** No other test has readings in this week, so its chunk can be compressed. */
const day = Date.UTC(2009, 4, 6) / 1000;
const at = (seconds: number, mileage: number) => ({ timestamp: day + seconds, status: { mileage } });

describe('a batch of readings', () => {
  it('is merged with stored readings even when the latest state was deleted', async () => {
    const vehicle = await createVehicle(platform.db, application);
    await store([vehicle, { timestamp: day, location: { latitude: 1, longitude: 2 } }]);
    await sql`delete from vehicle_latest where vehicle_id = ${Number(vehicle.id)}`.execute(platform.db);
    await store([vehicle, at(0, 3), at(1, 4)]);
    expect(await readings(vehicle)).toEqual([
      { seconds: day, latitude: 1, mileage: 3, soc: null },
      { seconds: day + 1, latitude: null, mileage: 4, soc: null },
    ]);
  });

  it('is stored in compressed chunks, new and repeated readings alike', async () => {
    const first = await createVehicle(platform.db, application);
    const second = await createVehicle(platform.db, application);
    await store([first, at(0, 1), at(10, 2)]);
    expect(await compressReadings(platform.db, day, day + 60)).toBe(1);
    await store([second, at(0, 5), at(10, 6)], [first, at(10, 2), at(20, 3)]);
    await store([first, at(5, 1.5)], [second, { ...at(10, 6), electric: { soc: 80 } }]);
    expect((await readings(first)).map(({ mileage }) => mileage)).toEqual([1, 1.5, 2, 3]);
    expect(await readings(second)).toMatchObject([{ mileage: 5 }, { mileage: 6, soc: 80 }]);
  });
});
