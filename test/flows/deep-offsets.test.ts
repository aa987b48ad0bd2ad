import type { Database } from '@odograph/database/database';
import { shareIngestBarrier } from '@odograph/database/ingest-barrier';
import { countReadings } from '@odograph/ingest/maintenance/schedule';
import { SettledHours } from '@odograph/ingest/upload/settled-hours';
import { keysAt, type ReadingInterval, skipHours } from '@odograph/query/shared/reading-keys';
import type { VehicleScope } from '@odograph/query/shared/vehicle-scope';
import { compressReadings } from '@odograph/testkit/compress-readings';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { useDatabase } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';

const db = useDatabase(6);

/** In the evening before a week begins, so that the readings span two chunks: weeks since the epoch begin on Thursday. */
const start = Date.UTC(2018, 4, 2, 19) / 1000;
const hour = 3600;
const span = 10 * hour;

interface Fleet {
  readonly applicationId: number;
  /** The owner of some readings of its vehicles. */
  readonly otherApplicationId: number;
  readonly vehicleIds: readonly number[];
}

async function createFleet(): Promise<Fleet> {
  const application = await createApplication(db);
  const vehicleIds: number[] = [];
  for (let n = 0; n < 3; n += 1) vehicleIds.push(Number((await createVehicle(db, application)).id));
  const other = await createApplication(db);
  return { applicationId: application.id, otherApplicationId: other.id, vehicleIds };
}

const burst = fc.record({
  vehicle: fc.integer({ min: 0, max: 2 }),
  second: fc.integer({ min: 0, max: span }),
  interval: fc.constantFrom(1, 10, 600),
  count: fc.integer({ min: 1, max: 40 }),
  ofOther: fc.boolean(),
});
type Burst = typeof burst extends fc.Arbitrary<infer T> ? T : never;

const ownerOf = ({ applicationId, otherApplicationId }: Fleet, { ofOther }: Burst): number =>
  ofOther ? otherApplicationId : applicationId;

async function insert(into: Database, fleet: Fleet, one: Burst): Promise<void> {
  const { vehicle, second, interval, count } = one;
  await sql`insert into reading (time, application_id, vehicle_id, device_id, received_at)
    select to_timestamp(${start + second}::integer + n * ${interval}::integer), ${ownerOf(fleet, one)}::integer,
      ${fleet.vehicleIds[vehicle]}::integer, 'test', now()
    from generate_series(0, ${count}::integer - 1) as n on conflict do nothing`.execute(into);
}

/** Stores readings as ingest does: idempotently. */
async function store(fleet: Fleet, one: Burst, outcome: 'commit' | 'rollback' = 'commit'): Promise<void> {
  const { vehicle, second, interval, count } = one;
  const readings = Array.from({ length: count }, (_, n) => ({
    applicationId: ownerOf(fleet, one),
    vehicleId: fleet.vehicleIds[vehicle] ?? 0,
    timeMicroseconds: (start + second + n * interval) * 1e6,
  }));
  const transaction = await db.startTransaction().execute();
  try {
    const { decisions: version } = await shareIngestBarrier(transaction);
    await insert(transaction, fleet, one);
    await new SettledHours().markLate(transaction, version, readings);
  } finally {
    await transaction[outcome]().execute();
  }
}

/** Deletes the counts of the fleet, so that its hours are counted for the first time. */
async function forgetCounts({ vehicleIds }: Fleet): Promise<void> {
  await sql`delete from reading_count where vehicle_id = any(${vehicleIds}::integer[])`.execute(db);
  await sql`update reading_settlement set counted_until = least(counted_until, to_timestamp(${start}))`.execute(db);
}

/** Compresses the first of the two chunks. */
async function compress(): Promise<void> {
  await compressReadings(db, start, start + 1);
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('store' as const), burst }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abandon' as const), burst }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('count' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compress' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function take(fleet: Fleet, one: Step): Promise<unknown> {
  if (one.do === 'store') return store(fleet, one.burst);
  if (one.do === 'abandon') return store(fleet, one.burst, 'rollback');
  return one.do === 'count' ? countReadings(db) : compress();
}

const question = fc.record({
  // From long before, so that most of the interval is empty.
  from: fc.oneof(fc.integer({ min: -hour, max: span }), fc.constant(-60 * 24 * hour)),
  length: fc.oneof(fc.integer({ min: 0, max: 2 * span }), fc.constant(120 * 24 * hour)),
  offset: fc.integer({ min: 0, max: 400 }),
  vehicles: fc.subarray([0, 1, 2], { minLength: 1 }),
  afterVehicle: fc.option(fc.integer({ min: 0, max: 2 })),
  roundHours: fc.boolean(),
  /** Whether only readings of the application of the fleet are asked for. */
  ofApplication: fc.boolean(),
});
type Question = typeof question extends fc.Arbitrary<infer T> ? T : never;

interface Selection {
  readonly interval: ReadingInterval & { readonly until: bigint };
  readonly scope: VehicleScope;
}

function select({ applicationId, vehicleIds }: Fleet, question: Question): Selection {
  const round = (seconds: number) => BigInt(question.roundHours ? Math.floor(seconds / hour) * hour : seconds);
  const from = (BigInt(start) + round(question.from)) * 1_000_000n;
  const until = from + round(question.length) * 1_000_000n;
  const ids = question.vehicles.map((index) => vehicleIds[index] ?? 0);
  const vehicleId = question.afterVehicle === null ? undefined : vehicleIds[question.afterVehicle];
  const interval = { from, until, ...(vehicleId === undefined ? {} : { after: { time: from, vehicleId } }) };
  const members = new Map(ids.map((id) => [id, '']));
  const ofVehicles = sql<boolean>`reading.vehicle_id = any(${ids}::integer[])`;
  if (!question.ofApplication) return { interval, scope: { condition: ofVehicles, members } };
  const condition = sql<boolean>`${ofVehicles} and reading.application_id = ${applicationId}`;
  return { interval, scope: { condition, members, applicationId } };
}

/** Finds the key at the offset with the counts, without them where readings are dense, and with a plain query. */
async function compare(
  fleet: Fleet,
  question: Question,
): Promise<{ found: string[][]; plain: string[][]; passed: number }> {
  const { interval, scope } = select(fleet, question);
  const { offset } = question;
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (snapshot) => {
      const skipped = await skipHours(snapshot, scope, interval, offset);
      const keys = [];
      for (const minOffset of [0, undefined]) {
        keys.push(await keysAt(snapshot, scope, interval, { offset, count: 2 }, minOffset));
      }
      const { rows } = await sql<{ key: string }>`
        select concat((extract(epoch from time) * 1000000)::bigint, ' ', vehicle_id) as key from reading
        where ${scope.condition} and time >= to_timestamp(${Number(interval.from / 1_000_000n)})
          and time <= to_timestamp(${Number(interval.until / 1_000_000n)})
          and (time, vehicle_id) > (to_timestamp(${Number(interval.from / 1_000_000n)}), ${interval.after?.vehicleId ?? 0})
        order by time, vehicle_id offset ${offset} limit 2`.execute(snapshot);
      return {
        found: keys.map((some) => some.map(({ time, vehicleId }) => `${time} ${vehicleId}`)),
        plain: [rows, rows].map((some) => some.map(({ key }) => key)),
        passed: offset - (skipped?.offset ?? offset),
      };
    });
}

describe('an offset that skips counted hours', { timeout: 300_000 }, () => {
  it('finds the same reading as a plain offset after late, repeated and aborted writes, counting and compression', async () => {
    let passed = 0;
    const steps = fc.array(step, { minLength: 4, maxLength: 12 });
    const bursts = fc.array(burst, { maxLength: 8 });
    const questions = fc.array(question, { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(bursts, steps, questions, async (first, later, wanted) => {
        const fleet = await createFleet();
        for (const one of first) await store(fleet, one);
        await countReadings(db);
        await forgetCounts(fleet);
        for (const one of later) await take(fleet, one);
        for (const one of wanted) {
          const answer = await compare(fleet, one);
          passed += answer.passed;
          expect({ one, keys: answer.found }).toEqual({ one, keys: answer.plain });
        }
      }),
      { numRuns: 8, endOnFailure: true },
    );
    expect(passed).toBeGreaterThan(0);
  });

  it('is exact in every snapshot while readings are stored and counted concurrently', async () => {
    const fleet = await createFleet();
    let writing = true;
    const write = async (seed: number) => {
      for (const one of fc.sample(burst, { numRuns: 50, seed })) await store(fleet, one);
    };
    const count = async () => {
      while (writing) await countReadings(db);
    };
    const read = async () => {
      const wrong: unknown[] = [];
      let answers = 0;
      while (writing) {
        for (const one of fc.sample(question, 5)) {
          const { found, plain } = await compare(fleet, one);
          answers += 1;
          if (found.join() !== plain.join()) wrong.push({ one, found, plain });
        }
      }
      return { wrong, answers };
    };
    const written = Promise.all([write(1), write(2), write(3)]).finally(() => {
      writing = false;
    });
    const [{ wrong, answers }] = await Promise.all([read(), count(), written]);
    expect(wrong).toEqual([]);
    expect(answers).toBeGreaterThan(10);
  });

  it('settles an hour only after every transaction that would not mark it has ended', async () => {
    const fleet = await createFleet();
    await countReadings(db);
    const writer = await db.startTransaction().execute();
    await shareIngestBarrier(writer);
    let settled = false;
    const counting = countReadings(db).then(() => {
      settled = true;
    });
    await sql`select pg_sleep(0.2)`.execute(writer);
    expect(settled).toBe(false);
    const one: Burst = { vehicle: 0, second: 0, interval: 1, count: 5, ofOther: false };
    await insert(writer, fleet, one);
    await writer.commit().execute();
    await counting;
    expect(settled).toBe(true);
  });

  it('marks the hours of late readings only', async () => {
    const fleet = await createFleet();
    await countReadings(db);
    const [vehicleId = 0] = fleet.vehicleIds;
    const { rows } = await sql<{ until: number }>`
      select (extract(epoch from settled_until) * 1000000)::bigint as until from reading_settlement`.execute(db);
    const end = rows[0]?.until ?? 0;
    const mark = (timeMicroseconds: number) =>
      db.transaction().execute(async (transaction) => {
        const { decisions: version } = await shareIngestBarrier(transaction);
        const reading = { applicationId: fleet.applicationId, vehicleId, timeMicroseconds };
        await new SettledHours().markLate(transaction, version, [reading]);
      });
    const marks = () => sql`select from reading_count where vehicle_id = ${vehicleId}`.execute(db);
    expect(end).toBeGreaterThan((Date.now() / 1000 - 4 * hour) * 1e6);
    expect(end).toBeLessThan((Date.now() / 1000 - hour) * 1e6);
    await mark(end);
    expect((await marks()).rows).toHaveLength(0);
    await mark(end - 1);
    expect((await marks()).rows).toHaveLength(1);
  });
});
