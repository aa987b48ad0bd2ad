import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { isUuid } from '@odograph/contracts/uuid';
import { readBatch } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import { showTrip, type TripRow, tripColumns, tripIsOver, tripTables } from '@odograph/database/trips';
import { sql } from 'kysely';

/** Trips that start in an interval, both ends inclusive. */
interface TripInterval {
  readonly from: Microseconds;
  readonly until: Microseconds;
}

/** A selection of trips of a vehicle in the order of their start. */
export interface TripRequest extends TripInterval {
  readonly vehicleId: number;
  readonly offset: number;
  /** Unlimited if undefined. */
  readonly limit?: number;
}

/** The last trip of a part. */
export interface TripKey {
  readonly start: Microseconds;
  readonly id: string;
  /** Trips of the request up to and including this one. */
  readonly count: number;
}

const isRequested = ({ vehicleId, from, until }: TripRequest) =>
  sql<boolean>`trip.vehicle_id = ${vehicleId} and trip.started_at >= ${isoMicroseconds(from)}::timestamptz
    and trip.started_at <= ${isoMicroseconds(until)}::timestamptz and ${tripIsOver}`;

/**
 * Reads trips as JSON elements, as many as fit into `bytes`.
 * @param after the last trip of the previous part; undefined for the first
 * @returns `next` when more trips of the request may follow
 */
export async function readTrips(
  snapshot: Database,
  request: TripRequest,
  after: TripKey | undefined,
  bytes: number,
): Promise<{ text: string; count: number; next?: TripKey }> {
  const following = after
    ? sql`(trip.started_at, trip.id) > (${isoMicroseconds(after.start)}::timestamptz, ${after.id}::uuid)`
    : sql`true`;
  const limit = request.limit === undefined ? sql`all` : sql`${request.limit - (after?.count ?? 0)}::bigint`;
  const query = sql<TripRow>`
    select ${tripColumns} from ${tripTables}
    where ${isRequested(request)} and ${following}
    order by trip.started_at, trip.id offset ${after ? 0 : request.offset} limit ${limit}`;
  const write = (row: TripRow) => JSON.stringify(showTrip(row));
  let text = '';
  const { rows, last, isComplete } = await readBatch(snapshot, query, write, bytes, (piece) => {
    text += piece;
  });
  const count = (after?.count ?? 0) + rows;
  if (isComplete || !last) return { text, count };
  return { text, count, next: { start: BigInt(last.started_us), id: last.id, count } };
}

/** Tells whether a request has any trip from an offset on, regardless of its own offset and limit. */
export async function hasTripsFrom(db: Database, request: TripRequest, offset: number): Promise<boolean> {
  const { rows } = await sql`select 1 from trip where ${isRequested(request)}
    order by trip.started_at, trip.id offset ${offset} limit 1`.execute(db);
  return rows.length > 0;
}

/** Finds the default interval of a request: from the start of this month, in the time zone of the application, to now. */
export async function findUsualInterval(db: Database, applicationId: number): Promise<TripInterval> {
  const { rows } = await sql<{ from_us: string; until_us: string }>`
    select (extract(epoch from date_trunc('month', now() at time zone time_zone) at time zone time_zone) * 1000000)::bigint::text
        as from_us, (extract(epoch from now()) * 1000000)::bigint::text as until_us
    from application where id = ${applicationId}`.execute(db);
  return { from: BigInt(rows[0]?.from_us ?? 0), until: BigInt(rows[0]?.until_us ?? 0) };
}

/** The interval of a trip, for looking up its positions. */
export interface TripTimes {
  id: string;
  start: Microseconds;
  end: Microseconds;
  distanceKm: number;
  inferred: boolean;
}

/** Finds a completed trip of a vehicle by its id. */
export async function findTrip(db: Database, vehicleId: number, id: string): Promise<TripTimes | undefined> {
  if (!isUuid(id)) return undefined;
  const { rows } = await sql<{ id: string; start_us: string; end_us: string; distance_km: number; inferred: boolean }>`
    select id, (extract(epoch from started_at) * 1000000)::bigint::text as start_us,
      (extract(epoch from ended_at) * 1000000)::bigint::text as end_us, distance_km, inferred
    from trip where id = ${id}::uuid and vehicle_id = ${vehicleId} and ${tripIsOver}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { distance_km: distanceKm, inferred } = row;
  return { id: row.id, start: BigInt(row.start_us), end: BigInt(row.end_us), distanceKm, inferred };
}
