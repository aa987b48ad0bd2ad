import { invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import type { VehicleScope } from './vehicle-scope.ts';

/** Identifies a reading; every page is ordered by time, then by vehicle. */
export interface ReadingKey {
  readonly time: Microseconds;
  readonly vehicleId: number;
}

const continuationForm = /^(\d{1,18})-(\d{10})$/;
const latestTime: Microseconds = 253_402_300_799_999_999n;

/** Formats the parameter `after` that continues after a reading: its microseconds and vehicle id. */
export function writeContinuation({ time, vehicleId }: ReadingKey): string {
  return `${time}-${vehicleId}`;
}

/** Parses the parameter `after`. @throws Failure INVALID_PARAMETER for a value that no answer contained */
export function readContinuation(text: string): ReadingKey {
  const [, time, id] = continuationForm.exec(text) ?? [];
  const vehicleId = id === undefined ? undefined : parseVehicleId(id);
  if (time === undefined || vehicleId === undefined || BigInt(time) > latestTime) {
    throw invalidParameter('after', 'must be taken from the Link of an answer');
  }
  return { time: BigInt(time), vehicleId };
}

/** An interval of readings in the order of their keys, both ends inclusive (interface specification, "History"). */
export interface ReadingInterval {
  readonly from: Microseconds;
  /** Unbounded if undefined. */
  readonly until?: Microseconds;
  /** Exclusive lower bound. */
  readonly after?: ReadingKey;
}

/** SQL of a timestamp. */
export const instant = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/** True for readings after a key. The separate comparison of the time allows chunk exclusion. */
function isAfter({ time, vehicleId }: ReadingKey): RawBuilder<boolean> {
  return sql<boolean>`reading.time >= ${instant(time)}
    and (reading.time, reading.vehicle_id) > (${instant(time)}, ${vehicleId})`;
}

/** True for readings up to a key, inclusive. */
export function isUpTo({ time, vehicleId }: ReadingKey): RawBuilder<boolean> {
  return sql<boolean>`reading.time <= ${instant(time)}
    and (reading.time, reading.vehicle_id) <= (${instant(time)}, ${vehicleId})`;
}

/** True for the readings of an interval. */
export function isWithin({ from, until, after }: ReadingInterval): RawBuilder<boolean> {
  const parts = [sql<boolean>`reading.time >= ${instant(from)}`];
  if (until !== undefined) parts.push(sql<boolean>`reading.time <= ${instant(until)}`);
  if (after) parts.push(isAfter(after));
  return sql<boolean>`${sql.join(parts, sql` and `)}`;
}

/** Returns the earliest possible time of a reading of the interval. */
export function startOf({ from, after }: ReadingInterval): Microseconds {
  return after && after.time > from ? after.time : from;
}

/** Returns the part of an interval from one of its readings on. */
export function startingWith({ time, vehicleId }: ReadingKey, interval: ReadingInterval): ReadingInterval {
  return { ...interval, from: time, after: { time, vehicleId: vehicleId - 1 } };
}

/** A selection of keys of an interval. */
interface Selection {
  readonly offset: number;
  readonly count: number;
}

/** Selects keys with an index-only scan, so that skipping a reading is cheap. */
function selectKeys({ condition, few }: VehicleScope, range: RawBuilder<boolean>, { offset, count }: Selection) {
  const keys = (vehicles: RawBuilder<boolean>, skipped: number, taken: number) => sql`
    select reading.time, reading.vehicle_id from reading where ${vehicles} and ${range}
    order by reading.time, reading.vehicle_id offset ${skipped} limit ${taken}`;
  if (!few) return keys(condition, offset, count);
  return sql`select own.time, own.vehicle_id from unnest(${few}::integer[]) as one (id)
    cross join lateral (${keys(sql<boolean>`reading.vehicle_id = one.id`, 0, offset + count)}) as own
    order by own.time, own.vehicle_id offset ${offset} limit ${count}`;
}

async function readKeys(
  db: Database,
  scope: VehicleScope,
  interval: ReadingInterval,
  selection: Selection,
): Promise<ReadingKey[]> {
  const { rows } = await sql<{ microseconds: string; vehicle_id: number }>`
    select (extract(epoch from key.time) * 1000000)::bigint::text as microseconds, key.vehicle_id
    from (${selectKeys(scope, isWithin(interval), selection)}) as key order by key.time, key.vehicle_id`.execute(db);
  return rows.map(({ microseconds, vehicle_id }) => ({ time: BigInt(microseconds), vehicleId: vehicle_id }));
}

/** Counts the readings of an interval. */
async function countReadings(db: Database, { condition }: VehicleScope, interval: ReadingInterval): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from reading where ${condition} and ${isWithin(interval)}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Assumed interval between the readings of a vehicle, in microseconds. */
const assumedIntervalMicroseconds = 10_000_000;
/** Growth of the window after one with too few readings. */
const windowGrowth = 16n;

/**
 * Finds keys of an interval; fewer than `count` when the interval has no more.
 *
 * Searches a window of time, then the next, longer one if the first has too few. One statement over the whole interval would
 * be planned for every chunk in it, and would sort whole compressed chunks, which are ordered per vehicle only.
 */
export async function keysAt(
  db: Database,
  scope: VehicleScope,
  interval: ReadingInterval,
  { offset, count }: Selection,
): Promise<ReadingKey[]> {
  const end = interval.until ?? BigInt(Date.now()) * 1000n;
  const found: ReadingKey[] = [];
  let left = offset;
  let from = startOf(interval);
  const readings = offset + count + 1;
  let length = BigInt(Math.ceil((readings * assumedIntervalMicroseconds * 1.25) / scope.members.size));
  for (; from + length < end; length *= windowGrowth) {
    const window = { ...interval, from, until: from + length };
    found.push(...(await readKeys(db, scope, window, { offset: left, count: count - found.length })));
    if (found.length === count) return found;
    if (left > 0) left = Math.max(0, left - (await countReadings(db, scope, window)));
    from = window.until + 1n;
  }
  const rest = await readKeys(db, scope, { ...interval, from }, { offset: left, count: count - found.length });
  return [...found, ...rest];
}
