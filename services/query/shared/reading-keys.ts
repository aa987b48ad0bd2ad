import { invalidParameter } from '@odograph/contracts/failures';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { type SkippedTo, skipCountedHours } from './counted-hours.ts';
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

/** True for the readings of an interval. */
function isWithin(interval: ReadingInterval): RawBuilder<boolean> {
  const { from, until, after } = interval;
  // Each further condition costs planning time for each chunk.
  const parts = [sql<boolean>`reading.time >= ${instant(startOf(interval))}`];
  if (until !== undefined) parts.push(sql<boolean>`reading.time <= ${instant(until)}`);
  if (after && after.time >= from) {
    parts.push(sql<boolean>`(reading.time, reading.vehicle_id) > (${instant(after.time)}, ${after.vehicleId})`);
  }
  return sql<boolean>`${sql.join(parts, sql` and `)}`;
}

/** True for the readings of a scope in an interval. */
export function isSelected({ condition }: VehicleScope, interval: ReadingInterval): RawBuilder<boolean> {
  return sql<boolean>`${condition} and ${isWithin(interval)}`;
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
async function countReadings(db: Database, scope: VehicleScope, interval: ReadingInterval): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from reading where ${isSelected(scope, interval)}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Moves the start of an interval past the whole counted hours that its offset skips; undefined if it skips none. */
export async function skipHours(
  db: Database,
  scope: VehicleScope,
  interval: ReadingInterval,
  offset: number,
): Promise<SkippedTo | undefined> {
  const { until, after } = interval;
  return skipCountedHours(db, {
    vehicleIds: [...scope.members.keys()],
    condition: isSelected(scope, interval),
    // Some readings at the time of `after` precede it.
    start: startOf(interval) + (after ? 1n : 0n),
    offset,
    ...(scope.applicationId !== undefined && { applicationId: scope.applicationId }),
    ...(until !== undefined && { until }),
  });
}

/** From this offset on, counts are faster than skipping readings, however dense these are. */
const minCountedOffset = 20_000;
/** Assumed interval between the readings of a vehicle, in microseconds. */
const assumedIntervalMicroseconds = 10_000_000;
/** Growth of the window after one with too few readings. */
const windowGrowth = 16n;
/** A longer window would be planned for several chunks. */
const maxUncountedWindow: Microseconds = 7n * 86_400_000_000n;

/**
 * Finds keys of an interval; fewer than `count` when the interval has no more.
 *
 * Searches a window of time, then the next, longer one if the first has too few. One statement over the whole interval would
 * be planned for every chunk in it, and would sort whole compressed chunks, which are ordered per vehicle only. Large
 * offsets, and those among sparse readings, skip counted hours instead.
 */
export async function keysAt(
  db: Database,
  scope: VehicleScope,
  interval: ReadingInterval,
  { offset, count }: Selection,
  minOffset: number = minCountedOffset,
): Promise<ReadingKey[]> {
  const end = interval.until ?? BigInt(Date.now()) * 1000n;
  const found: ReadingKey[] = [];
  let mayHaveCounts = offset > 0;
  const skip = () => {
    mayHaveCounts = false;
    return skipHours(db, scope, interval, offset);
  };
  let place: SkippedTo = { from: startOf(interval), offset };
  if (offset >= minOffset) place = (await skip()) ?? place;
  const readings = place.offset + count + 1;
  let length = BigInt(Math.ceil((readings * assumedIntervalMicroseconds * 1.25) / scope.members.size));
  while (place.from + length < end) {
    const window = { ...interval, from: place.from, until: place.from + length };
    found.push(...(await readKeys(db, scope, window, { offset: place.offset, count: count - found.length })));
    if (found.length === count) return found;
    const isSparse = found.length === 0 && length * windowGrowth > maxUncountedWindow;
    const skipped = isSparse && mayHaveCounts ? await skip() : undefined;
    if (skipped && skipped.from > window.until) {
      place = skipped;
      continue;
    }
    const passed = place.offset > 0 ? await countReadings(db, scope, window) : 0;
    place = { from: window.until + 1n, offset: Math.max(0, place.offset - passed) };
    length *= windowGrowth;
  }
  const rest = { ...interval, from: place.from };
  return [...found, ...(await readKeys(db, scope, rest, { offset: place.offset, count: count - found.length }))];
}
