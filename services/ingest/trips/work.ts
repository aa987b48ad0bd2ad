import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

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
  const { rows: locks } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(${lockClass}, ${vehicleId}) as locked`.execute(transaction);
  if (!locks[0]?.locked) return undefined;
  // Shared, so that a deletion waits until the trips are stored, and then finds them.
  const { rows: vehicles } = await sql`select 1 from vehicle
    where id = ${vehicleId} and deleted_at is null for share`.execute(transaction);
  if (vehicles.length === 0) {
    await sql`delete from trip_work where vehicle_id = ${vehicleId}`.execute(transaction);
    return undefined;
  }
  const { rows } = await sql<{ ticket: number; from: number | null; until: number }>`
    select ticket, (extract(epoch from lower(stretch)) * 1000000)::bigint as from,
      (extract(epoch from upper(stretch)) * 1000000)::bigint as until
    from trip_work, unnest(touched) as stretch where vehicle_id = ${vehicleId} order by stretch`.execute(transaction);
  const [first] = rows;
  if (!first) return undefined;
  const touched = rows.map(({ from, until }) => ({ fromMicroseconds: from ?? 0, untilMicroseconds: until }));
  return { touched, ticket: first.ticket };
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
  await sql`insert into trip_turn (vehicle_id, ended_at) values (${vehicleId}, now())
    on conflict (vehicle_id) do update set ended_at = excluded.ended_at`.execute(db);
  if (rest.length === 0) {
    await sql`delete from trip_work where vehicle_id = ${vehicleId} and ticket = ${ticket}`.execute(db);
    return;
  }
  await sql`update trip_work set touched = (
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
