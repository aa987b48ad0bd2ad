import { type Database, openDatabase } from '@odograph/database/database';
import { readConfig } from '@odograph/runtime/config';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { distributeTouched, markTouched } from './touched.ts';
import { finishWork, takeWork } from './work.ts';

const db = openDatabase({ url: inject('databaseUrl'), name: 'test', size: 4 });
let vehicleId: number;

beforeAll(async () => {
  vehicleId = Number((await createVehicle(db, await createApplication(db))).id);
});
afterAll(() => db.destroy());

const hours = (count: number) => 1_760_000_000_000_000 + count * 3_600_000_000;
async function touch(...times: number[]): Promise<void> {
  await markTouched(
    db,
    times.map((timeMicroseconds) => ({ vehicleId, timeMicroseconds })),
  );
  await distributeTouched(db, 0);
}
const stretch = (from: number, until: number) => ({ fromMicroseconds: from, untilMicroseconds: until });
const inTransaction = <T>(work: (transaction: Database) => Promise<T>) => db.transaction().execute(work);

describe('the work that readings make', () => {
  it('is the stretches that they touch, of which those that meet are one', async () => {
    await touch(hours(0), hours(1), hours(10));
    await touch(hours(1) - 5, hours(2));
    const work = await inTransaction((transaction) => takeWork(transaction, vehicleId));
    expect(work?.touched).toEqual([stretch(hours(0), hours(2)), stretch(hours(10), hours(10))]);
  });

  // The embedded database has one session, so nothing there is ever at the same time.
  it.runIf(readConfig().DATABASE_URL)('belongs to one worker at a time', async () => {
    await inTransaction(async (transaction) => {
      expect(await takeWork(transaction, vehicleId)).toBeDefined();
      expect(await inTransaction((other) => takeWork(other, vehicleId))).toBeUndefined();
    });
  });

  it('stays when more was added while it was done', async () => {
    const seen = await inTransaction((transaction) => takeWork(transaction, vehicleId));
    await touch(hours(20));
    if (seen) await inTransaction((transaction) => finishWork(transaction, vehicleId, seen, []));
    const work = await inTransaction((transaction) => takeWork(transaction, vehicleId));
    expect(work?.touched).toContainEqual(stretch(hours(20), hours(20)));
    expect(work?.touched).toContainEqual(stretch(hours(0), hours(2)));
  });

  it('is what is left when a turn ends before its end, and then nothing', async () => {
    const rest = [stretch(hours(3), hours(4))];
    for (const left of [rest, []]) {
      await inTransaction(async (transaction) => {
        const work = await takeWork(transaction, vehicleId);
        if (work) await finishWork(transaction, vehicleId, work, left);
      });
      const work = await inTransaction((transaction) => takeWork(transaction, vehicleId));
      expect(work?.touched ?? []).toEqual(left);
    }
  });

  it('waits its turn after the one before', async () => {
    await markTouched(db, [{ vehicleId, timeMicroseconds: hours(0) }]);
    await distributeTouched(db, 60_000);
    const { rows } = await sql<{ wait: number }>`select extract(epoch from due_at - now())::float8 as wait
      from trip_work where vehicle_id = ${vehicleId}`.execute(db);
    expect(rows[0]?.wait).toBeGreaterThan(50);
  });
});
