import type { Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { countReadings, moment, type Position, startOf, usualLength } from './reading-keys.ts';
import type { VehicleScope } from './vehicle-scope.ts';

const hour = 3_600_000_000n;
const hourStart = (time: Microseconds): Microseconds => time - (time % hour);
const hourEnd = (time: Microseconds): Microseconds => hourStart(time + hour - 1n);
const earlier = (one: Microseconds, other: Microseconds): Microseconds => (one < other ? one : other);

/** Before it every hour is counted or marked; undefined while nothing is. */
async function findCountedUntil(db: Database): Promise<Microseconds | undefined> {
  const { rows } = await sql<{ until: string }>`
    select (extract(epoch from counted_until) * 1000000)::bigint::text as until from reading_settlement`.execute(db);
  return rows[0] && BigInt(rows[0].until);
}

/** A stretch of whole hours that are settled. */
interface Hours {
  readonly from: Microseconds;
  /** Exclusive. */
  readonly until: Microseconds;
}

interface CountedHours {
  readonly readings: number;
  /** The hour that the reading at the offset is in, and the readings of the hours before it; undefined beyond all. */
  readonly reached: { readonly hour: Microseconds; readonly before: number } | undefined;
}

/** Marked hours are counted now, in the same snapshot. */
async function sumHours(db: Database, scope: VehicleScope, hours: Hours, offset: number): Promise<CountedHours> {
  const { applicationId, members } = scope;
  const ofApplication = applicationId === undefined ? sql`true` : sql`application_id = ${applicationId}`;
  const { rows } = await sql<{ readings: number; hour: string | null; before: number | null }>`
    with own as materialized (
      select hour, sum(coalesce(count, (select count(*) from reading where reading.vehicle_id = reading_count.vehicle_id
        and reading.application_id = reading_count.application_id and time >= hour and time < hour + interval '1 hour')))
        as readings
      from reading_count where vehicle_id = any(${[...members.keys()]}::integer[]) and ${ofApplication}
        and hour >= ${moment(hours.from)} and hour < ${moment(hours.until)} group by hour),
    running as (select hour, readings, sum(readings) over (order by hour) as through from own)
    select (select coalesce(sum(readings), 0) from own)::bigint as readings, reached.hour, reached.before
    from (select) as one left join lateral (
      select (extract(epoch from hour) * 1000000)::bigint::text as hour, (through - readings)::bigint as before
      from running where through > ${offset} order by running.hour limit 1) as reached on true`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('a sum is always a row');
  const { readings, hour, before } = row;
  return { readings, reached: hour === null || before === null ? undefined : { hour: BigInt(hour), before } };
}

/** Passes over whole hours from `position` on; `position` is where they begin. */
async function passHours(db: Database, scope: VehicleScope, position: Position, end: Microseconds): Promise<Position> {
  let { stretch, offset } = position;
  for (let length = usualLength(scope, offset); stretch.from < end; length *= 4n) {
    const until = earlier(hourEnd(stretch.from + length), end);
    const { readings, reached } = await sumHours(db, scope, { from: stretch.from, until }, offset);
    if (reached) return { stretch: { ...stretch, from: reached.hour }, offset: offset - reached.before };
    stretch = { ...stretch, from: until };
    offset -= readings;
  }
  return { stretch, offset };
}

/**
 * The same place in a stretch with the smallest offset that the counts of whole hours allow: exact, since a settled hour is
 * counted, marked or empty in every snapshot (packages/database/reading-counts.ts).
 */
export async function passCounted(db: Database, scope: VehicleScope, position: Position): Promise<Position> {
  const { stretch, offset } = position;
  const countedUntil = await findCountedUntil(db);
  if (countedUntil === undefined) return position;
  const begin = hourEnd(startOf(stretch) + (stretch.after ? 1n : 0n));
  const end = stretch.until === undefined ? countedUntil : earlier(countedUntil, hourStart(stretch.until + 1n));
  if (begin >= end) return position;
  const before = await countReadings(db, scope, { ...stretch, until: begin - 1n });
  if (before > offset) return position;
  return passHours(db, scope, { stretch: { ...stretch, from: begin }, offset: offset - before }, end);
}
