import { setTimeout as delay } from 'node:timers/promises';
import { type Database, openDatabase } from '@odograph/database/database';
import type { ApiClient } from '@odograph/testkit/api-client';
import { createApplication, createVehicle, type TestApplication } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { queryService } from '../service.ts';
import { awaitHorizon, keyOf, openWriters, readAll, readPage, storeBatch } from './changes.fixture.ts';

// Long transactions of other tests delay the feed.
let application: TestApplication;
let client: ApiClient;
let vehicleIds: string[];

const platform = await usePlatform([queryService]);
const writers = openWriters(platform, 8);
// Creating a chunk locks it until the end of the transaction, so the chunks are created first.
const other = await createApplication(platform.db);
const { id } = await createVehicle(platform.db, other);
await storeBatch(
  platform.db,
  other.id,
  [0, -50_000, -100_000].map((second) => [id, second] as const),
);
afterAll(() => writers.destroy());
beforeEach(async () => {
  application = await createApplication(platform.db);
  client = platform.as(application.token);
  const vehicles = await Promise.all(Array.from({ length: 3 }, () => createVehicle(platform.db, application)));
  vehicleIds = vehicles.map(({ id }) => id);
});

const store = (db: Database, ...readings: (readonly [vehicleId: string, seconds: number])[]) =>
  storeBatch(db, application.id, readings);

const write = fc.record({
  seconds: fc.uniqueArray(fc.integer({ min: -100_000, max: 100 }), { minLength: 1, maxLength: 12 }),
  vehicle: fc.integer({ min: 0, max: 2 }),
  heldMs: fc.integer({ min: 0, max: 25 }),
  outcome: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
});
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never;

/** Runs the transactions of one writer in sequence. @returns the keys that were committed */
async function carryOut(plan: Write[], applicationId: number, ids: string[], writer: number): Promise<string[]> {
  const committed: string[] = [];
  for (const { seconds, vehicle, heldMs, outcome } of plan) {
    const id = ids[vehicle] ?? '';
    // Different times, so that writers do not wait for each other's rows.
    const readings = seconds.map((second) => [id, second + writer / 8] as const);
    const trx = await writers.startTransaction().execute();
    await storeBatch(trx, applicationId, readings);
    await delay(heldMs);
    await (outcome === 'commit' ? trx.commit() : trx.rollback()).execute();
    if (outcome === 'commit') committed.push(...readings.map(([, second]) => `${id} ${second}`));
  }
  return committed;
}

/** Follows the feed until it has read everything that was committed when `settled` resolved. */
async function follow(follower: ApiClient, limit: number, settled: Promise<boolean>): Promise<string[]> {
  const answered: string[] = [];
  for (let next: string | undefined; ; ) {
    const last = await Promise.race([settled, delay(1, false)]);
    const page = await readPage(follower)(next, limit);
    answered.push(...page.changes.map(keyOf));
    next = page.next;
    if (last && !page.more) return answered;
  }
}

describe('the change feed under concurrent writers', () => {
  it('delays readings while a transaction of another database runs, and loses none', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'the embedded engine has one database');
    const url = new URL(platform.config.DATABASE_URL);
    url.pathname = '/postgres';
    const elsewhere = openDatabase({ url: url.href, name: 'test-elsewhere', size: 1 });
    const long = await elsewhere.startTransaction().execute();
    await sql`select pg_current_xact_id()`.execute(long);
    const [vehicleId = ''] = vehicleIds;
    await store(writers, [vehicleId, 1]);
    const early = await readAll(client);
    expect(early.changes).toEqual([]);
    await long.rollback().execute();
    await elsewhere.destroy();
    await awaitHorizon(platform.db, application.id);
    expect((await readAll(client, early.next)).changes.map(keyOf)).toEqual([`${vehicleId} 1`]);
  });

  it('answers every reading at least once, in the order of storage, for any order of commits', async () => {
    const plans = fc.array(fc.array(write, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(plans, fc.integer({ min: 1, max: 9 }), async (work, limit) => {
        const fresh = await createApplication(platform.db);
        const vehicles = await Promise.all(vehicleIds.map(() => createVehicle(platform.db, fresh)));
        const ids = vehicles.map(({ id }) => id);
        const writing = Promise.all(work.map((plan, writer) => carryOut(plan, fresh.id, ids, writer)));
        const settled = writing.then(() => awaitHorizon(platform.db, fresh.id)).then(() => true);
        const follower = platform.as(fresh.token);
        const answered = await follow(follower, limit, settled);
        expect(new Set(answered)).toEqual(new Set((await writing).flat()));
        expect(answered).toEqual((await readAll(follower)).changes.map(keyOf));
      }),
      { numRuns: 12 },
    );
  });
});
