import { openSealer } from '@odograph/runtime/sealing';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { countReadings } from '../maintenance/count-readings.ts';
import { decodeUploads } from './decode-uploads.ts';
import { BatchStore } from './store-batch.ts';

const platform = await usePlatform([]);

const hour = 3600;
/** The start of the current hour, in seconds since the epoch. */
const now = Math.floor(Date.now() / 1000 / hour) * hour;

describe('a late reading', () => {
  it('causes its hour to be counted again, whenever that hour was settled; a live reading does not', async () => {
    const { db, config } = platform;
    const batches = new BatchStore(db, await openSealer(config, 'quarantine'));
    const { id, deviceId } = await createVehicle(db, await createApplication(db));
    const store = (...seconds: number[]) => {
      const text = JSON.stringify(seconds.map((timestamp) => ({ timestamp, status: { ignition: true } })));
      return batches.store(decodeUploads([{ deviceId, receivedAtMs: Date.now(), text }], Date.now()));
    };
    const expectCounts = (...counts: number[]) =>
      eventually(async () => {
        await countReadings(db);
        const { rows } = await sql<{ count: number }>`select count from reading_count where vehicle_id = ${Number(id)}
          order by hour`.execute(db);
        expect(rows.map(({ count }) => count)).toEqual(counts);
      });
    const late = now - 3 * 86_400;
    await store(now);
    await expectCounts();
    await store(late, now - 60);
    await expectCounts(1);
    await store(late + 1, late + 4 * hour);
    await expectCounts(2, 1);
    await store(late, late + 1, late + 2);
    await expectCounts(3, 1);
  });
});
