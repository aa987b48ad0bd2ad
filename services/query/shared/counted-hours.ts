import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { type RawBuilder, sql } from 'kysely';

/** Readings in the order of time, and how many of them to skip. */
export interface SkippedReadings {
  readonly vehicleIds: readonly number[];
  /** Only readings of this application. */
  readonly applicationId?: number;
  /** True for the readings, all of them in [start, until]; the table is `reading`. */
  readonly condition: RawBuilder<boolean>;
  readonly start: Microseconds;
  readonly until?: Microseconds;
  readonly offset: number;
}

/** The readings that remain: those from a time on, of which `offset` are still to be skipped. */
export interface SkippedTo {
  readonly from: Microseconds;
  readonly offset: number;
}

const hour = 3_600_000_000n;
const hourStart = (time: Microseconds): Microseconds => time - (time % hour);
const hourEnd = (time: Microseconds): Microseconds => hourStart(time + hour - 1n);
const earlier = (one: Microseconds, other: Microseconds): Microseconds => (one < other ? one : other);
const instant = (time: Microseconds) => sql`${isoMicroseconds(time)}::timestamptz`;

/** Finds the end of the counted hours; undefined before the first count. */
async function findCountedUntil(db: Database): Promise<Microseconds | undefined> {
  const { rows } = await sql<{ until: string }>`
    select (extract(epoch from counted_until) * 1000000)::bigint::text as until from reading_settlement`.execute(db);
  return rows[0] && BigInt(rows[0].until);
}

interface CountedHours {
  readonly readings: number;
  /** The hour of the reading at the offset, and the readings in the hours before it; absent if the offset is beyond all. */
  readonly reached?: { readonly hour: Microseconds; readonly before: number };
}

/** Selects the hours in [from, until) to add up. */
interface HoursRequest extends SkippedTo {
  readonly until: Microseconds;
}

const storedCount = sql`count`;

/** Builds SQL of the count of an hour; counts its readings now if it is marked. */
const currentCount = ({ from, until }: HoursRequest) => sql`coalesce(count, (
  select count(*) from reading where reading.vehicle_id = reading_count.vehicle_id
    and reading.application_id = reading_count.application_id and time >= hour and time < hour + interval '1 hour'
    and time >= ${instant(from)} and time < ${instant(until)}))`;

/** Adds up the counts of hours. Marked hours are counted now, in the same snapshot. */
async function sumHours(
  db: Database,
  readings: SkippedReadings,
  request: HoursRequest,
  count: RawBuilder<unknown> = storedCount,
): Promise<CountedHours> {
  const { vehicleIds, applicationId } = readings;
  const { from, until, offset } = request;
  const ofApplication = applicationId === undefined ? sql`true` : sql`application_id = ${applicationId}`;
  const { rows } = await sql<{ readings: number; marked: boolean; hour: string | null; before: number | null }>`
    with own as materialized (
      select hour, sum(${count}) as readings, bool_or(count is null) as marked
      from reading_count where vehicle_id = any(${vehicleIds}::integer[]) and ${ofApplication}
        and hour >= ${instant(from)} and hour < ${instant(until)} group by hour),
    running as (select hour, readings, sum(readings) over (order by hour) as through from own)
    select total.readings, total.marked, reached.hour, reached.before
    from (select coalesce(sum(readings), 0)::bigint as readings, coalesce(bool_or(marked), false) as marked from own) as total
    left join lateral (
      select (extract(epoch from hour) * 1000000)::bigint::text as hour, (through - readings)::bigint as before
      from running where through > ${offset} order by running.hour limit 1) as reached on true`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the sum of the hours has no row');
  // Counting is planned for each chunk of the interval, so it is left to intervals with marked hours.
  if (row.marked && count === storedCount) return sumHours(db, readings, request, currentCount(request));
  if (row.hour === null || row.before === null) return { readings: row.readings };
  return { readings: row.readings, reached: { hour: BigInt(row.hour), before: row.before } };
}

/** How long the first summed interval is; each one after it is four times as long. */
const firstInterval = 24n * hour;

async function skipHours(
  db: Database,
  readings: SkippedReadings,
  start: SkippedTo,
  end: Microseconds,
): Promise<SkippedTo> {
  let { from, offset } = start;
  for (let length = firstInterval; from < end; length *= 4n) {
    const until = earlier(hourEnd(from + length), end);
    const counted = await sumHours(db, readings, { from, until, offset });
    if (counted.reached) return { from: counted.reached.hour, offset: offset - counted.reached.before };
    from = until;
    offset -= counted.readings;
  }
  return { from, offset };
}

/**
 * Skips as many whole counted hours as the offset allows; exact in every snapshot.
 * @returns undefined when not even one hour can be skipped
 */
export async function skipCountedHours(db: Database, readings: SkippedReadings): Promise<SkippedTo | undefined> {
  const { condition, start, until, offset } = readings;
  const countedUntil = await findCountedUntil(db);
  if (countedUntil === undefined) return undefined;
  const from = hourEnd(start);
  const end = until === undefined ? countedUntil : earlier(countedUntil, hourStart(until + 1n));
  if (from >= end) return undefined;
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from reading where ${condition} and reading.time < ${instant(from)}`.execute(db);
  const before = rows[0]?.count ?? 0;
  if (before > offset) return undefined;
  return skipHours(db, readings, { from, offset: offset - before }, end);
}
