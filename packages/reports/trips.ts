import { seesBooking } from '@odograph/database/bookings';
import { tripColumns, tripIsOver, tripTables } from '@odograph/database/trips';
import { type RawBuilder, sql } from 'kysely';
import {
  dateOf,
  instant,
  isReported,
  isWithin,
  moment,
  type ReportScope,
  startOfDay,
  vehicleColumns,
} from './scope.ts';

/** Builds SQL for the driver of the `trip` row: the driver of the booking at its start, if the booking is visible. */
export const driverOf = ({ viewer }: ReportScope) => sql`(select booking.user_id from booking
  where booking.vehicle_id = trip.vehicle_id and booking.deleted_at is null
    and tstzrange(booking.starts_at, booking.ends_at) @> trip.started_at and ${seesBooking(viewer)})`;

/** Selects trips by their start; distances are those of GET /v1/vehicle/{id}/trips, rounded to the metre. */
function selectTrips(scope: ReportScope): RawBuilder<unknown> {
  return sql`select stored.*, round(stored.distance_km::numeric, 3) as metres, trip.started_at, trip.ended_at,
      ${vehicleColumns}, ${driverOf(scope)} as driver, ${dateOf(sql`trip.started_at`, scope)} as date
    from ${tripTables} cross join lateral (select ${tripColumns}) as stored
    where ${isReported(scope)} and ${tripIsOver} and ${isWithin(sql`trip.started_at`, scope)}`;
}

/** Selects the rows of the trip report, ordered by vehicle and start. */
export function selectTripRows(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select "vehicleId", plate, driver, id as "tripId", date, ${moment(sql`started_at`)} as "startedAt",
      ${moment(sql`ended_at`)} as "endedAt", distance_km as "distanceKm", minutes,
      case when minutes > 0 then distance_km / (minutes / 60) end as "averageSpeedKmh", fuel_litres as "fuelLitres",
      electric_kwh as "electricKwh", distance_km * tariff_per_km + minutes * tariff_per_minute as cost,
      first_latitude as "startLatitude", first_longitude as "startLongitude", last_latitude as "endLatitude",
      last_longitude as "endLongitude"
    from (${selectTrips(scope)}) as trip order by plate, "vehicleId", started_at`;
}

/** SQL for totals of trips, including trips without consumption. */
const totals = sql`count(id)::integer as trips, coalesce(sum(metres), 0)::float8 as "distanceKm",
  coalesce(sum(minutes), 0) / 60 as "drivingHours", sum(fuel_litres) as "fuelLitres",
  (sum(fuel_litres) * 100 / nullif(sum(metres) filter (where fuel_litres is not null), 0)::float8) as "fuelLitresPer100Km",
  sum(electric_kwh) as "electricKwh",
  (sum(electric_kwh) * 100 / nullif(sum(metres) filter (where electric_kwh is not null), 0)::float8)
    as "electricKwhPer100Km",
  (count(id) filter (where fuel_litres is null and electric_kwh is null))::integer as "tripsWithoutEnergy"`;

/** Selects trip totals by vehicle, for vehicles with trips. */
export function selectVehicleTotals(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select "vehicleId", plate, ${totals} from (${selectTrips(scope)}) as trip
    group by "vehicleId", plate order by plate, "vehicleId"`;
}

/** Selects trip totals by driver; trips of unknown drivers form the last row, without a name. */
export function selectDriverTotals(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select driver, ${totals} from (${selectTrips(scope)}) as trip
    group by driver order by driver nulls last`;
}

/** Selects the days of the interval, each with its hours within it: 23 or 25 on days of a clock change. */
export function selectDayTotals(scope: ReportScope): RawBuilder<object> {
  const [first, end, zone] = [instant(scope.from), instant(scope.until), sql`${scope.timeZone}`];
  return sql<object>`
    with day as (select to_char(start, 'YYYY-MM-DD') as date, extract(epoch from
        least(${end}, ${startOfDay(sql`(start + interval '1 day')`, zone)})
        - greatest(${first}, ${startOfDay(sql`start`, zone)}))::float8 / 3600 as "dayHours"
      from generate_series(date_trunc('day', ${first} at time zone ${zone}),
        (${end} - interval '1 microsecond') at time zone ${zone}, '1 day') as start)
    select day.date, "dayHours", ${totals} from day left join (${selectTrips(scope)}) as trip on trip.date = day.date
    group by day.date, "dayHours" order by day.date`;
}

/**
 * Selects stops that begin in the interval. A stop lasts from the end of a trip to the start of the next one, if any. A trip
 * that is inferred across silence begins where the trip before it ends, without a stop.
 */
function selectStops(scope: ReportScope): RawBuilder<unknown> {
  return sql`select ${vehicleColumns}, stop.started_at, stop.ended_at, ${dateOf(sql`stop.started_at`, scope)} as date,
      extract(epoch from stop.ended_at - stop.started_at)::float8 / 60 as minutes, stop.latitude, stop.longitude
    from vehicle cross join lateral (
      select trip.ended_at as started_at, trip.last_latitude as latitude, trip.last_longitude as longitude,
        (select min(next.started_at) from trip as next where next.vehicle_id = trip.vehicle_id
          and next.started_at >= trip.ended_at) as ended_at
      from trip where trip.vehicle_id = vehicle.id and ${tripIsOver} and ${isWithin(sql`trip.ended_at`, scope)}) as stop
    where ${isReported(scope)} and stop.ended_at is distinct from stop.started_at`;
}

/** Selects the rows of the stop report. */
export function selectStopRows(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select "vehicleId", plate, date, ${moment(sql`started_at`)} as "startedAt",
      ${moment(sql`ended_at`)} as "endedAt", minutes, latitude, longitude
    from (${selectStops(scope)}) as stop order by plate, "vehicleId", started_at`;
}

/** Selects the number and hours of stops by vehicle; a stop in progress adds no hours. */
export function selectStopTotals(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select "vehicleId", plate, count(*)::integer as stops, coalesce(sum(minutes), 0) / 60 as "stoppedHours"
    from (${selectStops(scope)}) as stop group by "vehicleId", plate order by plate, "vehicleId"`;
}
