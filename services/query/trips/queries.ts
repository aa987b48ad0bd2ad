import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { type Trip, toTrip } from './rules.ts';

/** Which trips of a vehicle: those whose start lies in [from, until]. */
export interface TripWindow {
  from: Microseconds;
  until: Microseconds;
}

interface TripRow {
  id: string;
  started_us: string;
  minutes: number;
  distance_km: number;
  fuel_litres: number | null;
  electric_kwh: number | null;
  first_latitude: number | null;
  first_longitude: number | null;
  last_latitude: number | null;
  last_longitude: number | null;
  tariff_per_km: number;
  tariff_per_minute: number;
}

const position = (latitude: number | null, longitude: number | null) =>
  latitude === null || longitude === null ? undefined : { latitude, longitude };

/** A trip counts from the moment on that its end is known. */
const isOver = sql<boolean>`trip.ends_known_at <= now()`;

const within = ({ from, until }: TripWindow) =>
  sql<boolean>`trip.started_at >= ${isoMicroseconds(from)}::timestamptz
    and trip.started_at <= ${isoMicroseconds(until)}::timestamptz`;

/** The trips of a window in the order of their start. */
export async function listTrips(
  db: Database,
  vehicleId: number,
  window: TripWindow,
  { offset, limit }: { offset: number; limit: number },
): Promise<Trip[]> {
  const { rows } = await sql<TripRow>`
    select trip.id, (extract(epoch from trip.started_at) * 1000000)::bigint::text as started_us,
      extract(epoch from trip.ended_at - trip.started_at)::float8 / 60 as minutes, trip.distance_km,
      coalesce(trip.fuel_litres, trip.fuel_percent / 100 * nullif(vehicle.tank_litres, 0)) as fuel_litres,
      trip.electric_kwh, trip.first_latitude, trip.first_longitude, trip.last_latitude, trip.last_longitude,
      application.tariff_per_km, application.tariff_per_minute
    from trip join vehicle on vehicle.id = trip.vehicle_id join application on application.id = vehicle.application_id
    where trip.vehicle_id = ${vehicleId} and ${within(window)} and ${isOver}
    order by trip.started_at offset ${offset} limit ${limit}`.execute(db);
  return rows.map((row) =>
    toTrip({
      id: row.id,
      start: BigInt(row.started_us),
      minutes: row.minutes,
      distanceKm: row.distance_km,
      fuelLitres: row.fuel_litres ?? 0,
      electricKwh: row.electric_kwh ?? 0,
      tariffPerKm: row.tariff_per_km,
      tariffPerMinute: row.tariff_per_minute,
      first: position(row.first_latitude, row.first_longitude),
      last: position(row.last_latitude, row.last_longitude),
    }),
  );
}

/** Whether a window has any trip. */
export async function hasTrips(db: Database, vehicleId: number, window: TripWindow): Promise<boolean> {
  const { rows } = await sql`select 1 from trip
    where vehicle_id = ${vehicleId} and ${within(window)} and ${isOver} limit 1`.execute(db);
  return rows.length > 0;
}

/** The window when a request names none: from the start of this month, in the time zone of the application, to now. */
export async function findUsualWindow(db: Database, applicationId: number): Promise<TripWindow> {
  const { rows } = await sql<{ from_us: string; until_us: string }>`
    select (extract(epoch from date_trunc('month', now() at time zone time_zone) at time zone time_zone) * 1000000)::bigint::text
        as from_us, (extract(epoch from now()) * 1000000)::bigint::text as until_us
    from application where id = ${applicationId}`.execute(db);
  return { from: BigInt(rows[0]?.from_us ?? 0), until: BigInt(rows[0]?.until_us ?? 0) };
}

/** A trip as the way that it took is looked up. */
export interface TripStretch {
  id: string;
  start: Microseconds;
  end: Microseconds;
  distanceKm: number;
  inferred: boolean;
}

/** A trip of a vehicle by its id; undefined when it has none of this id that is over. */
export async function findTrip(db: Database, vehicleId: number, id: string): Promise<TripStretch | undefined> {
  if (!isUuid(id)) return undefined;
  const { rows } = await sql<{ id: string; start_us: string; end_us: string; distance_km: number; inferred: boolean }>`
    select id, (extract(epoch from started_at) * 1000000)::bigint::text as start_us,
      (extract(epoch from ended_at) * 1000000)::bigint::text as end_us, distance_km, inferred
    from trip where id = ${id}::uuid and vehicle_id = ${vehicleId} and ${isOver}`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { distance_km: distanceKm, inferred } = row;
  return { id: row.id, start: BigInt(row.start_us), end: BigInt(row.end_us), distanceKm, inferred };
}
