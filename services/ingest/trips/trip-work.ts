import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { arrayLiteral, instantArray } from '../sql-arrays.ts';

/** Where a reading was stored. */
interface StoredReading {
  readonly vehicleId: number;
  readonly timeMicroseconds: number;
}

/** Readings of one vehicle, further apart than which they are stretches of their own. */
const sameStretchMicroseconds = 6 * 3_600_000_000;

interface Stretch extends StoredReading {
  lastMicroseconds: number;
}

function stretchesOf(readings: readonly StoredReading[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const { vehicleId, timeMicroseconds } of readings) {
    const last = stretches.at(-1);
    const goesOn = last?.vehicleId === vehicleId && timeMicroseconds - last.lastMicroseconds <= sameStretchMicroseconds;
    if (goesOn) last.lastMicroseconds = timeMicroseconds;
    else stretches.push({ vehicleId, timeMicroseconds, lastMicroseconds: timeMicroseconds });
  }
  return stretches;
}

/**
 * Notes, in the transaction that stores readings, which trips they may change: one row whatever the batch.
 * @param readings sorted by vehicle, then time
 */
export async function markTouched(db: Database, readings: readonly StoredReading[]): Promise<void> {
  const stretches = stretchesOf(readings);
  if (stretches.length === 0) return;
  await sql`insert into trip_touched (vehicle_ids, firsts, lasts)
    values (${arrayLiteral(stretches.map(({ vehicleId }) => vehicleId))}::integer[],
      ${instantArray(stretches.map(({ timeMicroseconds }) => timeMicroseconds))},
      ${instantArray(stretches.map(({ lastMicroseconds }) => lastMicroseconds))})`.execute(db);
}

const rowsAtOnce = 1000;

/**
 * Hands what was noted on to the vehicles, each of which takes its turn at most every `pauseMs`.
 * @returns whether more may wait
 */
export async function distributeTouched(db: Database, pauseMs: number): Promise<boolean> {
  const { rows } = await sql<{ taken: number }>`
    with taken as (
      delete from trip_touched where id in (
        select id from trip_touched order by id limit ${rowsAtOnce} for update skip locked)
      returning vehicle_ids, firsts, lasts),
    by_vehicle as (
      select stretch.vehicle_id, range_agg(tstzrange(stretch.first, stretch.last, '[]')) as touched
      from taken, unnest(vehicle_ids, firsts, lasts) as stretch (vehicle_id, first, last)
      group by stretch.vehicle_id),
    handed_on as (
      insert into trip_work (vehicle_id, touched, due_at)
      select by_vehicle.vehicle_id, by_vehicle.touched,
        -- A turn that ended in the future ended by a clock that was set back since.
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

/** A stretch of time in which readings were stored, both ends included. */
export interface TouchedStretch {
  fromMicroseconds: number;
  untilMicroseconds: number;
}

/** What is to be done for a vehicle, as it was when it was looked up. */
export interface TripWork {
  /** In the order of time. */
  touched: TouchedStretch[];
  ticket: number;
}

interface WorkRow {
  ticket: number;
  from: number | null;
  until: number;
}

const lockClass = 7_305_115;

/** The vehicles whose turn it is, those that wait longest first. */
export async function findDue(db: Database, limit: number): Promise<number[]> {
  const { rows } = await sql<{ vehicle_id: number }>`select vehicle_id from trip_work
    where due_at <= now() order by due_at limit ${limit}`.execute(db);
  return rows.map(({ vehicle_id }) => vehicle_id);
}

/**
 * What is to be done for a vehicle, which belongs to this transaction until it ends; undefined when it belongs to another
 * one, or is gone, or there is nothing to do.
 */
export async function takeWork(transaction: Database, vehicleId: number): Promise<TripWork | undefined> {
  // The vehicle is locked shared, so that a deletion waits until the trips are stored, and then finds them.
  const { rows } = await sql<WorkRow>`
    with mine as (
      select id from vehicle where id = ${vehicleId} and deleted_at is null
        and pg_try_advisory_xact_lock(${lockClass}, ${vehicleId}) for share),
    -- What a power failure takes of the trips it takes of the work done as well, so nobody waits for the disk.
    hurried as (select set_config('synchronous_commit', 'off', true))
    select ticket, (extract(epoch from lower(stretch)) * 1000000)::bigint as from,
      (extract(epoch from upper(stretch)) * 1000000)::bigint as until
    from hurried, mine join trip_work on trip_work.vehicle_id = mine.id, unnest(touched) as stretch
    order by stretch`.execute(transaction);
  const [first] = rows;
  if (!first) return undefined;
  const touched = rows.map(({ from, until }) => ({ fromMicroseconds: from ?? 0, untilMicroseconds: until }));
  return { touched, ticket: first.ticket };
}

/** Forgets what is to be done for vehicles that are deleted. */
export async function forgetDeleted(db: Database): Promise<void> {
  await sql`delete from trip_work using vehicle
    where vehicle.id = trip_work.vehicle_id and vehicle.deleted_at is not null`.execute(db);
}

/**
 * Ends the turn of a vehicle. What was added since `takeWork` keeps all of it for another turn.
 * @param rest what could not be done in this turn
 */
export async function finishWork(
  db: Database,
  vehicleId: number,
  { ticket }: TripWork,
  rest: readonly TouchedStretch[],
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
        ${rest.map(({ untilMicroseconds }) => untilMicroseconds)}::bigint[]) as stretch (from_us, until_us))
    where vehicle_id = ${vehicleId} and ticket = ${ticket}`.execute(db);
}

/** Lets a vehicle wait whose turn failed, so that it does not hold up the others. */
export async function postponeWork(db: Database, vehicleId: number, seconds: number): Promise<void> {
  await sql`update trip_work set due_at = now() + make_interval(secs => ${seconds})
    where vehicle_id = ${vehicleId}`.execute(db);
}
