import type { Database } from '@odograph/database/database';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import { sql } from 'kysely';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { distributeTouched, finishWork, takeWork, touchTrips } from './trip-work.ts';

const db = useDatabase(4);
let vehicleId: number;

beforeAll(async () => {
  vehicleId = Number((await createVehicle(db, await createApplication(db))).id);
});

const hours = (count: number) => 1_760_000_000_000_000 + count * 3_600_000_000;
const interval = (from: number, until: number) => ({ fromMicroseconds: from, untilMicroseconds: until });

async function touch(on: Database, ...times: number[]): Promise<void> {
  await touchTrips(
    on,
    times.map((timeMicroseconds) => ({ vehicleId, timeMicroseconds })),
  );
  await distributeTouched(on, 0);
}

/** Workers of concurrent tests share the database, so everything happens in one transaction that is rolled back. */
async function alone(test: (transaction: Database) => Promise<void>): Promise<void> {
  const transaction = await db.startTransaction().execute();
  try {
    await test(transaction);
  } finally {
    await transaction.rollback().execute();
  }
}

describe('trip work', () => {
  it('consists of the touched intervals; adjoining ones are merged', () =>
    alone(async (transaction) => {
      await touch(transaction, hours(0), hours(1), hours(10));
      await touch(transaction, hours(1) - 5, hours(2));
      const work = await takeWork(transaction, vehicleId);
      expect(work?.touched).toEqual([interval(hours(0), hours(2)), interval(hours(10), hours(10))]);
    }));

  it('remains when more was added during the turn', () =>
    alone(async (transaction) => {
      await touch(transaction, hours(0));
      const seen = await takeWork(transaction, vehicleId);
      await touch(transaction, hours(20));
      if (seen) await finishWork(transaction, vehicleId, seen, []);
      const work = await takeWork(transaction, vehicleId);
      expect(work?.touched).toEqual([interval(hours(0), hours(0)), interval(hours(20), hours(20))]);
    }));

  it('is the rest after a partial turn, and nothing after a complete one', () =>
    alone(async (transaction) => {
      await touch(transaction, hours(0), hours(4));
      for (const left of [[interval(hours(3), hours(4))], []]) {
        const work = await takeWork(transaction, vehicleId);
        if (work) await finishWork(transaction, vehicleId, work, left);
        expect((await takeWork(transaction, vehicleId))?.touched ?? []).toEqual(left);
      }
    }));

  it('is due a pause after the previous turn', () =>
    alone(async (transaction) => {
      await touch(transaction, hours(0));
      const work = await takeWork(transaction, vehicleId);
      if (work) await finishWork(transaction, vehicleId, work, []);
      await touchTrips(transaction, [{ vehicleId, timeMicroseconds: hours(0) }]);
      await distributeTouched(transaction, 60_000);
      const { rows } = await sql<{ wait: number }>`select extract(epoch from due_at - now())::float8 as wait
        from trip_work where vehicle_id = ${vehicleId}`.execute(transaction);
      expect(rows[0]?.wait).toBe(60);
    }));

  it('belongs to one worker at a time', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded database has one session');
    await eventually(async () => {
      await touch(db, hours(0));
      await db.transaction().execute(async (transaction) => {
        expect(await takeWork(transaction, vehicleId)).toBeDefined();
        const { rows } = await sql`select 1 from trip_work where vehicle_id = ${vehicleId}`.execute(db);
        expect(rows).toHaveLength(1);
        const other = await db.transaction().execute((second) => takeWork(second, vehicleId));
        expect(other).toBeUndefined();
      });
    });
  });
});
