import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';
import type { ReadingKey } from './continuation.ts';
import type { VehicleScope } from './vehicle-scope.ts';

/** A stretch of readings in the order of time, then vehicle. */
export interface Stretch {
  /** Inclusive. */
  readonly from: Microseconds;
  /** Inclusive; without it the stretch is open. */
  readonly until?: Microseconds;
  /** Only what follows this reading. */
  readonly after?: ReadingKey;
}

interface KeyRow {
  microseconds: string;
  vehicle_id: number;
}

export const moment = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/** The time alone is what excludes chunks; the pair decides within one microsecond. */
export function beside(comparison: '>' | '<=', key: ReadingKey): RawBuilder<boolean> {
  const time = moment(key.time);
  const pair = sql.raw(comparison);
  const coarse = sql.raw(comparison === '<=' ? '<=' : '>=');
  return sql<boolean>`reading.time ${coarse} ${time} and (reading.time, reading.vehicle_id) ${pair} (${time}, ${key.vehicleId})`;
}

/** True for the readings of a stretch. */
export function within({ from, until, after }: Stretch): RawBuilder<boolean> {
  const parts = [sql<boolean>`reading.time >= ${moment(from)}`];
  if (until !== undefined) parts.push(sql<boolean>`reading.time <= ${moment(until)}`);
  if (after) parts.push(beside('>', after));
  return sql<boolean>`${sql.join(parts, sql` and `)}`;
}

/** No reading of a stretch is earlier. */
export function startOf({ from, after }: Stretch): Microseconds {
  return after && after.time > from ? after.time : from;
}

/** A reading of a stretch, by how many come before it. */
export interface Position {
  readonly stretch: Stretch;
  readonly offset: number;
}

/** The part of a stretch that begins with one of its readings. */
export function beginningWith({ time, vehicleId }: ReadingKey, stretch: Stretch): Stretch {
  return { ...stretch, from: time, after: { time, vehicleId: vehicleId - 1 } };
}

/** Which keys of a stretch, in their order. */
export interface Stride {
  readonly offset: number;
  readonly count: number;
}

/** Keys from the index alone, so that skipping a reading costs little. */
function keysOf({ condition, few }: VehicleScope, range: RawBuilder<boolean>, { offset, count }: Stride) {
  const keys = (vehicles: RawBuilder<boolean>, skipped: number, taken: number) => sql`
    select reading.time, reading.vehicle_id from reading where ${vehicles} and ${range}
    order by reading.time, reading.vehicle_id offset ${skipped} limit ${taken}`;
  if (!few) return keys(condition, offset, count);
  return sql`select own.time, own.vehicle_id from unnest(${few}::integer[]) as one (id)
    cross join lateral (${keys(sql<boolean>`reading.vehicle_id = one.id`, 0, offset + count)}) as own
    order by own.time, own.vehicle_id offset ${offset} limit ${count}`;
}

async function readKeys(db: Database, scope: VehicleScope, stretch: Stretch, stride: Stride): Promise<ReadingKey[]> {
  const result = await sql<KeyRow>`
    select (extract(epoch from key.time) * 1000000)::bigint::text as microseconds, key.vehicle_id
    from (${keysOf(scope, within(stretch), stride)}) as key order by key.time, key.vehicle_id`.execute(db);
  return result.rows.map(({ microseconds, vehicle_id }) => ({ time: BigInt(microseconds), vehicleId: vehicle_id }));
}

/** How many readings a stretch has. */
export async function countReadings(db: Database, { condition }: VehicleScope, stretch: Stretch): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from reading where ${condition} and ${within(stretch)}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** A car is taken to report so often. */
const usualIntervalMicroseconds = 10_000_000;
/** How much longer the next window is when one ended too soon. */
const growth = 16n;

/** How long it takes that many readings to come if the cars report as usual, and a quarter more. */
export function usualLength({ members }: VehicleScope, readings: number): bigint {
  return BigInt(Math.ceil(((readings + 1) * usualIntervalMicroseconds * 1.25) / members.size));
}

/**
 * The keys that a stride asks for in a stretch, as many as there are.
 *
 * They are looked for in a window of time, and in the next and longer one when it ends too soon: a compressed chunk has
 * only the keys of one vehicle in order, and would be opened and sorted whole for those of all, and a statement that may
 * meet every chunk of a year is planned for each of them.
 */
export async function keysAt(
  db: Database,
  scope: VehicleScope,
  stretch: Stretch,
  { offset, count }: Stride,
): Promise<ReadingKey[]> {
  const end = stretch.until ?? BigInt(Date.now()) * 1000n;
  const found: ReadingKey[] = [];
  let left = offset;
  let from = startOf(stretch);
  for (let length = usualLength(scope, offset + count); from + length < end; length *= growth) {
    const window = { ...stretch, from, until: from + length };
    found.push(...(await readKeys(db, scope, window, { offset: left, count: count - found.length })));
    if (found.length === count) return found;
    if (left > 0) left = Math.max(0, left - (await countReadings(db, scope, window)));
    from = window.until + 1n;
  }
  const rest = await readKeys(db, scope, { ...stretch, from }, { offset: left, count: count - found.length });
  return [...found, ...rest];
}
