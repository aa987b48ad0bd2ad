import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import type { LinkedReading } from '../pipeline/readings.ts';
import { instantArray, integerArray } from '../pipeline/sql-values.ts';

type StoredReading = Pick<LinkedReading, 'vehicleId' | 'timeMicroseconds'>;

/** Readings of a vehicle that are further apart touch separate intervals. */
const maxStepMicroseconds = 6 * 3_600_000_000;

function intervalsOf(readings: readonly StoredReading[]) {
  const intervals: (StoredReading & { lastMicroseconds: number })[] = [];
  for (const { vehicleId, timeMicroseconds } of readings) {
    const last = intervals.at(-1);
    const continues = last?.vehicleId === vehicleId && timeMicroseconds - last.lastMicroseconds <= maxStepMicroseconds;
    if (continues) last.lastMicroseconds = timeMicroseconds;
    else intervals.push({ vehicleId, timeMicroseconds, lastMicroseconds: timeMicroseconds });
  }
  return intervals;
}

/**
 * Records which intervals a batch touches, so that their trips are segmented again. Call it in the transaction that stores
 * the readings; it adds one row.
 * @param readings sorted by vehicle, then time
 */
export async function touchTrips(db: Database, readings: readonly StoredReading[]): Promise<void> {
  const intervals = intervalsOf(readings);
  if (intervals.length === 0) return;
  await sql`insert into trip_touched (vehicle_ids, firsts, lasts)
    values (${integerArray(intervals.map(({ vehicleId }) => vehicleId))},
      ${instantArray(intervals.map(({ timeMicroseconds }) => timeMicroseconds))},
      ${instantArray(intervals.map(({ lastMicroseconds }) => lastMicroseconds))})`.execute(db);
}

const rowsAtOnce = 1000;

/**
 * Adds the touched intervals to the work of their vehicles, each of which is due at most every `pauseMs`.
 * @returns whether more rows may be waiting
 */
export async function distributeTouched(db: Database, pauseMs: number): Promise<boolean> {
  const { rows } = await sql<{ taken: number }>`
    with taken as (
      delete from trip_touched where id in (
        select id from trip_touched order by id limit ${rowsAtOnce} for update skip locked)
      returning vehicle_ids, firsts, lasts),
    by_vehicle as (
      select one.vehicle_id, range_agg(tstzrange(one.first, one.last, '[]')) as touched
      from taken, unnest(vehicle_ids, firsts, lasts) as one (vehicle_id, first, last)
      group by one.vehicle_id),
    distributed as (
      insert into trip_work (vehicle_id, touched, due_at)
      select by_vehicle.vehicle_id, by_vehicle.touched,
        -- A turn ended in the future when the clock was set back since.
        least(greatest(now(), trip_turn.ended_at + ${pauseMs} * interval '1 millisecond'),
          now() + ${pauseMs} * interval '1 millisecond')
      from by_vehicle join vehicle on vehicle.id = by_vehicle.vehicle_id and vehicle.deleted_at is null
      left join trip_turn on trip_turn.vehicle_id = by_vehicle.vehicle_id
      order by by_vehicle.vehicle_id
      on conflict (vehicle_id) do update set
        touched = trip_work.touched + excluded.touched, ticket = trip_work.ticket + 1)
    select count(*) as taken from taken`.execute(db);
  return (rows[0]?.taken ?? 0) === rowsAtOnce;
}

/** An interval in which readings were stored, both ends included. */
export interface TouchedInterval {
  fromMicroseconds: number;
  untilMicroseconds: number;
}

/** The work of a vehicle when it was taken. */
export interface TripWork {
  /** In time order. */
  touched: TouchedInterval[];
  ticket: number;
}

const lockClass = 7_305_115;

/** Finds the vehicles that are due, longest waiting first. */
export async function findDue(db: Database, limit: number): Promise<number[]> {
  const { rows } = await sql<{ vehicle_id: number }>`select vehicle_id from trip_work
    where due_at <= now() order by due_at limit ${limit}`.execute(db);
  return rows.map(({ vehicle_id }) => vehicle_id);
}

/**
 * Locks a vehicle's trips for this transaction and returns its work; undefined when another transaction has the lock, the
 * vehicle is deleted, or there is no work.
 */
export async function takeWork(transaction: Database, vehicleId: number): Promise<TripWork | undefined> {
  // The shared lock makes a deletion wait until the trips are stored, and then find them.
  const { rows } = await sql<{ ticket: number; from: number | null; until: number }>`
    with mine as (
      select id from vehicle where id = ${vehicleId} and deleted_at is null
        and pg_try_advisory_xact_lock(${lockClass}, ${vehicleId}) for share),
    -- A power failure loses trips and the record of their work together, so no commit waits for the disk.
    async_commit as (select set_config('synchronous_commit', 'off', true))
    select ticket, (extract(epoch from lower(one)) * 1000000)::bigint as from,
      (extract(epoch from upper(one)) * 1000000)::bigint as until
    from async_commit, mine join trip_work on trip_work.vehicle_id = mine.id, unnest(touched) as one
    order by one`.execute(transaction);
  const [first] = rows;
  if (!first) return undefined;
  const touched = rows.map(({ from, until }) => ({ fromMicroseconds: from ?? 0, untilMicroseconds: until }));
  return { touched, ticket: first.ticket };
}

/** Deletes the work of deleted vehicles. */
export async function deleteWorkOfDeleted(db: Database): Promise<void> {
  await sql`delete from trip_work using vehicle
    where vehicle.id = trip_work.vehicle_id and vehicle.deleted_at is not null`.execute(db);
}

/**
 * Ends the turn of a vehicle. Work added since `takeWork` keeps all of it for another turn.
 * @param rest intervals left for another turn
 */
export async function finishWork(
  db: Database,
  vehicleId: number,
  { ticket }: TripWork,
  rest: readonly TouchedInterval[],
): Promise<void> {
  const turn = sql`turn as (insert into trip_turn (vehicle_id, ended_at) values (${vehicleId}, now())
    on conflict (vehicle_id) do update set ended_at = excluded.ended_at)`;
  if (rest.length === 0) {
    await sql`with ${turn} delete from trip_work where vehicle_id = ${vehicleId} and ticket = ${ticket}`.execute(db);
    return;
  }
  await sql`with ${turn} update trip_work set touched = (
      select range_agg(tstzrange(timestamptz 'epoch' + from_us * interval '1 microsecond',
        timestamptz 'epoch' + until_us * interval '1 microsecond', '[]'))
      from unnest(${rest.map(({ fromMicroseconds }) => fromMicroseconds)}::bigint[],
        ${rest.map(({ untilMicroseconds }) => untilMicroseconds)}::bigint[]) as one (from_us, until_us))
    where vehicle_id = ${vehicleId} and ticket = ${ticket}`.execute(db);
}

/** Postpones a vehicle whose turn failed, so that it does not block the others. */
export async function postponeWork(db: Database, vehicleId: number, seconds: number): Promise<void> {
  await sql`update trip_work set due_at = now() + make_interval(secs => ${seconds})
    where vehicle_id = ${vehicleId}`.execute(db);
}
