import { isUuid } from '@odograph/contracts/text-patterns';
import { isoMicroseconds, type Microseconds } from '@odograph/contracts/timestamps';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

interface Position {
  latitude: number;
  longitude: number;
  /** Added by Addresses. */
  address?: string;
}

/** A trip, and the tariff of its application. */
interface TripFacts {
  id: string;
  start: Microseconds;
  minutes: number;
  distanceKm: number;
  fuelLitres: number;
  electricKwh: number;
  tariffPerKm: number;
  tariffPerMinute: number;
  first: Position | undefined;
  last: Position | undefined;
}

/** Interface specification, "trip object": km, minutes, km/h, litres, kWh. */
export interface Trip {
  trip_id: string;
  timestamp: string;
  distance: number;
  duration: number;
  cost: number;
  fuel_consumption: number;
  fuel_consumption_100km: number;
  average_speed: number;
  electric_consumption: number;
  electric_consumption_100km: number;
  first_position?: Position;
  last_position?: Position;
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));
/** On shorter trips the consumption per 100 km is not meaningful. */
const minKmForAverage = 1;

/** Writes a Timestamp: ISO 8601 UTC to the millisecond, or to the microsecond if it has any. */
export function writeTimestamp(moment: Microseconds): string {
  return isoMicroseconds(moment).replace(/000Z$/, 'Z');
}

/** Composes the trip object. */
function toTrip(facts: TripFacts): Trip {
  const { id, start, minutes, distanceKm, fuelLitres, electricKwh, tariffPerKm, tariffPerMinute, first, last } = facts;
  const per100Km = (amount: number) => (distanceKm < minKmForAverage ? 0 : round((amount / distanceKm) * 100, 2));
  return {
    trip_id: id,
    timestamp: writeTimestamp(start),
    distance: round(distanceKm, 3),
    duration: round(minutes, 2),
    cost: round(distanceKm * tariffPerKm + minutes * tariffPerMinute, 2),
    fuel_consumption: round(fuelLitres, 3),
    fuel_consumption_100km: per100Km(fuelLitres),
    average_speed: round(distanceKm / (minutes / 60), 1),
    electric_consumption: round(electricKwh, 3),
    electric_consumption_100km: per100Km(electricKwh),
    ...(first && { first_position: first }),
    ...(last && { last_position: last }),
  };
}

/** A row of `tripColumns`. */
export interface TripRow {
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

/** Composes the trip object of a row. */
export function showTrip(row: TripRow): Trip {
  return toTrip({
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
  });
}

/** SQL of a TripRow; needs `tripTables`. */
export const tripColumns = sql`trip.id, (extract(epoch from trip.started_at) * 1000000)::bigint::text as started_us,
  extract(epoch from trip.ended_at - trip.started_at)::float8 / 60 as minutes, trip.distance_km,
  coalesce(trip.fuel_litres, trip.fuel_percent / 100 * nullif(vehicle.tank_litres, 0)) as fuel_litres,
  trip.electric_kwh, trip.first_latitude, trip.first_longitude, trip.last_latitude, trip.last_longitude,
  application.tariff_per_km, application.tariff_per_minute`;
export const tripTables = sql`trip join vehicle on vehicle.id = trip.vehicle_id
  join application on application.id = vehicle.application_id`;

/** A trip is answered once its end is known. */
export const tripIsOver = sql<boolean>`trip.ends_known_at <= now()`;

/** SQL for the odometer in a row of `reading_in_units as reading`, km. Devices send 0 if it is unknown. */
export const odometer = sql<
  number | null
>`coalesce(nullif(reading.mileage, 0), nullif((reading.fleet ->> 'mileage')::float8, 0))`;

/** Builds SQL for the odometer of `trip` at a time, km: the last value reported in the preceding 24 hours, else null. */
export const odometerAt = (time: RawBuilder<unknown>): RawBuilder<number | null> => sql<number | null>`(
  select ${odometer} from reading_in_units as reading
  where reading.vehicle_id = trip.vehicle_id and reading.time <= ${time} and reading.time > ${time} - interval '1 day'
    and ${odometer} is not null order by reading.time desc limit 1)`;

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
