import { seesBooking } from '@odograph/database/bookings';
import { tripIsOver } from '@odograph/database/trips';
import { maxPause } from '@odograph/database/vehicle-conditions';
import { type RawBuilder, sql } from 'kysely';
import { instant, isReported, isWithin, moment, type ReportScope, vehicleColumns } from './scope.ts';

/** Selects the visible bookings of the `vehicle` row, each with its hours in the interval. */
function selectBookings(scope: ReportScope): RawBuilder<unknown> {
  const interval = sql`tstzrange(${instant(scope.from)}, ${instant(scope.until)})`;
  return sql`select booking.user_id, extract(epoch from upper(share) - lower(share))::float8 / 3600 as hours
    from booking cross join lateral (select tstzrange(booking.starts_at, booking.ends_at) * ${interval} as share) as own
    where booking.vehicle_id = vehicle.id and booking.deleted_at is null and not isempty(share) and ${seesBooking(scope.viewer)}`;
}

/** Selects the booked and driven hours of each vehicle, including vehicles without bookings or trips. */
export function selectUtilization(scope: ReportScope): RawBuilder<object> {
  const hours = Number(scope.until - scope.from) / 3.6e9;
  return sql<object>`select ${vehicleColumns}, booked.bookings, booked.hours as "bookedHours",
      booked.hours * 100 / ${hours}::float8 as "bookedPercent", driven.trips, driven.km as "distanceKm",
      driven.hours as "drivingHours", driven.hours * 100 / ${hours}::float8 as "drivenPercent"
    from vehicle cross join lateral (select count(*)::integer as bookings, coalesce(sum(hours), 0) as hours
      from (${selectBookings(scope)}) as booking) as booked
    cross join lateral (select count(*)::integer as trips, coalesce(sum(round(distance_km::numeric, 3)), 0)::float8 as km,
        coalesce(sum(extract(epoch from ended_at - started_at)), 0)::float8 / 3600 as hours
      from trip where trip.vehicle_id = vehicle.id and ${tripIsOver} and ${isWithin(sql`started_at`, scope)}) as driven
    where ${isReported(scope)} and (vehicle.archived_at is null or booked.bookings > 0 or driven.trips > 0)
    order by plate, vehicle.id`;
}

/** Selects the number and hours of bookings by driver. */
export function selectBookingTotals(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select booking.user_id as driver, count(*)::integer as bookings, sum(hours) as "bookedHours"
    from vehicle cross join lateral (${selectBookings(scope)}) as booking
    where ${isReported(scope)} group by booking.user_id order by booking.user_id`;
}

const alarmTables = sql`alarm join vehicle on vehicle.id = alarm.vehicle_id`;
const isReportedAlarm = (scope: ReportScope) => sql`${isReported(scope)} and ${isWithin(sql`alarm.raised_at`, scope)}`;
const alarmCounts = sql`count(*)::integer as alarms,
  (count(*) filter (where alarm.cleared_at is null))::integer as "openAlarms"`;

/** Selects the alarms that were raised in the interval. */
export function selectAlarmRows(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select ${vehicleColumns}, alarm.id as "alarmId", alarm.kind, alarm_rule.name as rule,
      ${moment(sql`alarm.raised_at`)} as "raisedAt", ${moment(sql`nullif(alarm.cleared_at, 'infinity')`)} as "clearedAt",
      alarm.value, ${moment(sql`alarm.acknowledged_at`)} as "acknowledgedAt", alarm.acknowledged_by as "acknowledgedBy",
      alarm.note, alarm.latitude, alarm.longitude
    from ${alarmTables} join alarm_rule on alarm_rule.id = alarm.rule_id
    where ${isReportedAlarm(scope)} order by alarm.raised_at, alarm.id`;
}

export function selectAlarmVehicles(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select ${vehicleColumns}, ${alarmCounts} from ${alarmTables} where ${isReportedAlarm(scope)}
    group by vehicle.id order by plate, vehicle.id`;
}

export function selectAlarmKinds(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select alarm.kind, ${alarmCounts} from ${alarmTables} where ${isReportedAlarm(scope)}
    group by alarm.kind order by alarm.kind`;
}

/** Selects devices that are silent now and whose silence overlaps the interval; the threshold is that of the vehicle list. */
export function selectSilentDevices(scope: ReportScope): RawBuilder<object> {
  return sql<object>`select ${vehicleColumns}, device_link.device_id as "deviceId",
      ${moment(sql`vehicle_latest.received_at`)} as "lastContactAt",
      extract(epoch from now() - vehicle_latest.received_at)::float8 / 3600 as "silentHours"
    from vehicle join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
    left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where ${isReported(scope)} and vehicle.archived_at is null and ${instant(scope.from)} < now()
      and coalesce(vehicle_latest.received_at < ${instant(scope.until)}
        and now() >= vehicle_latest.received_at + ${maxPause}, true)
    order by vehicle_latest.received_at nulls first, vehicle.id`;
}
