import { mileageEntryDays } from '@odograph/contracts/mileage';
import { managesVehicle } from '@odograph/database/bookings';
import { odometerAt, tripIsOver } from '@odograph/database/trips';
import { namesUser } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { dateOf, isReported, isWithin, moment, type ReportScope, vehicleColumns } from './scope.ts';
import { driverOf } from './trips.ts';

/** Builds SQL that is true for visible entries: users see their own, managers all entries of the vehicle. */
function seesEntry({ viewer }: ReportScope): RawBuilder<boolean> {
  const { userId } = viewer;
  if (userId === undefined) return sql<boolean>`true`;
  return sql<boolean>`(${managesVehicle(viewer)} or mileage_entry.entered_by = ${`user:${userId}`}
    or ${namesUser(userId, sql`mileage_entry.driver`)})`;
}

/**
 * Builds SQL for the current entry of a trip, without a row if the viewer may not see it; `first` is the time of its
 * first version.
 */
const validEntry = (tripId: RawBuilder<unknown>, scope: ReportScope) => sql`(
  select mileage_entry.* from (
    select newest.*, (select min(entered_at) from mileage_entry as earlier
      where earlier.vehicle_id = newest.vehicle_id and earlier.trip_id = newest.trip_id) as first
    from mileage_entry as newest where newest.vehicle_id = vehicle.id and newest.trip_id = ${tripId}
    order by version desc limit 1) as mileage_entry
  where ${seesEntry(scope)})`;

const entryColumns = sql`entry.class, entry.purpose, entry.partner, entry.note, entry.entered_at, entry.entered_by,
  entry.version, entry.start_place, entry.end_place, entry.distance_km as entered_km, entry.driver as entered_driver,
  entry.first > entry.ended_at + make_interval(days => ${mileageEntryDays}) as is_late`;

/**
 * Selects the trips of the interval with their entries, and entries whose trip no longer exists because late data replaced
 * it. Distances are those of the current trips, odometers too as long as the readings are stored.
 */
function selectLog(scope: ReportScope): RawBuilder<unknown> {
  return sql`select ${vehicleColumns}, trip.id, trip.started_at, trip.ended_at, round(trip.distance_km::numeric, 3) as km,
      coalesce(${odometerAt(sql`trip.started_at`)}, entry.start_odometer_km) as start_km,
      coalesce(${odometerAt(sql`trip.ended_at`)}, entry.end_odometer_km) as end_km,
      first_latitude, first_longitude, last_latitude, last_longitude, ${driverOf(scope)} as driver, ${entryColumns},
      (entry.started_at, entry.ended_at, entry.distance_km)
        <> (trip.started_at, trip.ended_at, round(trip.distance_km::numeric, 3)::float8) as is_changed
    from trip join vehicle on vehicle.id = trip.vehicle_id left join lateral ${validEntry(sql`trip.id`, scope)} as entry on true
    where ${isReported(scope)} and ${tripIsOver} and ${isWithin(sql`trip.started_at`, scope)}
    union all
    select ${vehicleColumns}, entry.trip_id, entry.started_at, entry.ended_at, null, entry.start_odometer_km,
      entry.end_odometer_km, null, null, null, null, null, ${entryColumns}, true
    from vehicle cross join lateral (select distinct trip_id from mileage_entry
      where mileage_entry.vehicle_id = vehicle.id and ${isWithin(sql`mileage_entry.started_at`, scope)}) as entered
    cross join lateral ${validEntry(sql`entered.trip_id`, scope)} as entry
    where ${isReported(scope)} and not exists (select from trip where trip.id = entered.trip_id)`;
}

/** Selects the mileage log. For private trips it contains only the distance, which suffices for tax authorities. */
export function selectMileageRows(scope: ReportScope): RawBuilder<object> {
  const unlessPrivate = (value: RawBuilder<unknown>) =>
    sql`case when (class = 'private') is not true then ${value} end`;
  return sql<object>`select "vehicleId", plate, coalesce(entered_driver, driver) as driver, id as "tripId",
      ${dateOf(sql`started_at`, scope)} as date, ${moment(sql`started_at`)} as "startedAt", ${moment(sql`ended_at`)} as "endedAt",
      start_km as "startOdometerKm", end_km as "endOdometerKm",
      ${unlessPrivate(sql`start_place`)} as "startPlace", ${unlessPrivate(sql`end_place`)} as "endPlace",
      ${unlessPrivate(sql`first_latitude`)} as "startLatitude", ${unlessPrivate(sql`first_longitude`)} as "startLongitude",
      ${unlessPrivate(sql`last_latitude`)} as "endLatitude", ${unlessPrivate(sql`last_longitude`)} as "endLongitude", km::float8 as "distanceKm", class, purpose, partner,
      note, ${moment(sql`entered_at`)} as "enteredAt", entered_by as "enteredBy", is_late as late,
      version - 1 as replaced, is_changed as "tripChanged", entered_km as "enteredDistanceKm"
    from (${selectLog(scope)}) as log order by plate, "vehicleId", started_at`;
}

/** Selects the distance of each vehicle by trip class. */
export function selectMileageTotals(scope: ReportScope): RawBuilder<object> {
  const kilometres = (condition: RawBuilder<unknown>) =>
    sql`coalesce(sum(round(trip.distance_km::numeric, 3)) filter (where ${condition}), 0)::float8`;
  return sql<object>`select ${vehicleColumns}, count(*)::integer as trips, ${kilometres(sql`true`)} as "distanceKm",
      ${kilometres(sql`entry.class = 'business'`)} as "businessKm", ${kilometres(sql`entry.class = 'commute'`)} as "commuteKm",
      ${kilometres(sql`entry.class = 'private'`)} as "privateKm", ${kilometres(sql`entry.class is null`)} as "unclassifiedKm"
    from trip join vehicle on vehicle.id = trip.vehicle_id left join lateral ${validEntry(sql`trip.id`, scope)} as entry on true
    where ${isReported(scope)} and ${tripIsOver} and ${isWithin(sql`trip.started_at`, scope)}
    group by vehicle.id order by plate, vehicle.id`;
}

/** Selects superseded entries. */
export function selectReplacedEntries(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select ${vehicleColumns}, mileage_entry.trip_id as "tripId",
      ${moment(sql`mileage_entry.started_at`)} as "startedAt", version, class, purpose, partner, driver, note,
      ${moment(sql`entered_at`)} as "enteredAt", entered_by as "enteredBy"
    from mileage_entry join vehicle on vehicle.id = mileage_entry.vehicle_id
    where ${isReported(scope)} and ${seesEntry(scope)} and ${isWithin(sql`mileage_entry.started_at`, scope)}
      and exists (select from mileage_entry as later where later.vehicle_id = mileage_entry.vehicle_id
        and later.trip_id = mileage_entry.trip_id and later.version > mileage_entry.version)
    order by plate, vehicle.id, mileage_entry.started_at, version`;
}
