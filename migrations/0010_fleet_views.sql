-- Views for people who read the database with SQL: Grafana, BI tools, psql (docs/grafana.md).
--
-- A reader has a database user of its own, bound to one application or to all in `report_login`, and may read these views and
-- nothing else. They go by session_user, which no statement of a session changes; `set role` and settings do not count. Their
-- conditions hold before any function of the reader sees a row (security_barrier).

create table report_login (
  login text primary key,
  -- null: all applications
  application_id integer references application,
  created_at timestamptz not null default now()
);

-- The applications that the reader sees.
create view report_scope with (security_barrier) as
  select application.id, application.app_id, application.name, application.time_zone
  from application join report_login on report_login.login = session_user
    and coalesce(report_login.application_id, application.id) = application.id
  where application.deleted_at is null;

create schema fleet;
comment on schema fleet is 'Vehicles and what they reported, for reports: names with units, without positions in privacy intervals';

create view fleet.applications with (security_barrier) as
  select app_id, name, time_zone from report_scope;

-- The rules are those of the table of vehicles (docs/interface.md).
create view fleet.vehicles with (security_barrier) as
  select vehicle.id as vehicle_id, scope.app_id, vehicle.plate, vehicle.vin, vehicle.brand, vehicle.model,
    vehicle.energy, vehicle.seats, vehicle.kind,
    case when vehicle.archived_at is not null then 'archived' when private.is_on then 'private'
      when latest.received_at is null or now() >= latest.received_at
        + case when motion.is_moving then interval '10 minutes' else interval '25 hours' end then 'silent'
      when motion.is_moving then 'moving' else 'parked' end as state,
    array_remove(array[case when vehicle.towing then 'towing' end, case when vehicle.accident then 'accident' end,
      case when vehicle.maintenance then 'maintenance' end, case when vehicle.breakdown then 'breakdown' end,
      case when vehicle.stolen then 'stolen' end, case when vehicle.unavailable then 'unavailable' end], null) as flags,
    (select count(*) from alarm where alarm.vehicle_id = vehicle.id
      and coalesce(alarm.cleared_at, 'infinity') = 'infinity')::integer as open_alarms,
    device_link.device_id, latest.received_at as last_contact_at,
    extract(epoch from now() - latest.received_at)::double precision / 60 as contact_age_minutes,
    case when not private.is_on then (latest.location ->> 'latitude')::double precision end as latitude,
    case when not private.is_on then (latest.location ->> 'longitude')::double precision end as longitude,
    case when not private.is_on then latest.location_time end as position_at,
    case when not private.is_on then motion.speed end as speed_kmh,
    case when latest.fleet ? 'mileage' and (not coalesce(latest.status ? 'mileage', false) or latest.fleet_time >= latest.status_time)
      then latest.fleet ->> 'mileage' else latest.status ->> 'mileage' end::double precision as mileage_km,
    coalesce(latest.electric ->> 'soc', latest.fleet ->> 'ChargeLevel')::double precision as soc_percent,
    coalesce(latest.status ->> 'autonomy', latest.fleet ->> 'RemainingRange')::double precision as range_km,
    (latest.status ->> 'ignition')::boolean as ignition,
    case when latest.parked_location is not null and not motion.is_moving and not private.is_on then latest.parked_at end
      as parked_since,
    vehicle.created_at
  from vehicle join report_scope as scope on scope.id = vehicle.application_id
  left join vehicle_latest as latest on latest.vehicle_id = vehicle.id
  left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
  cross join lateral (select exists (select from privacy_period where privacy_period.vehicle_id = vehicle.id
    and coalesce(upper(privacy_period.period), 'infinity') > now()) as is_on) as private
  cross join lateral (select latest.location ? 'speed' and (not coalesce(latest.fleet ? 'speed', false)
    or latest.location_time >= latest.fleet_time) as is_of_location) as source
  cross join lateral (select
    case when source.is_of_location then latest.location ->> 'speed' else latest.fleet ->> 'speed' end::double precision as speed,
    case when source.is_of_location then latest.location_time else latest.fleet_time end as time) as speed
  cross join lateral (select speed.speed,
    coalesce((latest.status ->> 'ignition')::boolean, latest.fleet ->> 'engine' = 'ON', false)
      or coalesce(speed.speed > 5 and speed.time >= coalesce(latest.status_time, '-infinity'), false) as is_moving) as motion
  where vehicle.deleted_at is null;

-- A vehicle may have reported for another application before. The list of applications is read once for each statement, so
-- that indexes and chunk exclusion apply.
create view fleet.readings with (security_barrier) as
  select reading.time, reading.vehicle_id, vehicle.plate, reading.device_id, reading.sequence, reading.received_at,
    reading.speed as speed_kmh, reading.ignition, reading.movement, reading.mileage as mileage_km, reading.autonomy as range_km,
    reading.soc as soc_percent, reading.soh as soh_percent, reading.current as current_a, reading.voltage as voltage_v,
    reading.energy as energy_kwh, reading.max_energy as max_energy_kwh,
    reading.min_cell_voltage as min_cell_voltage_v, reading.max_cell_voltage as max_cell_voltage_v,
    reading.temperature as temperature_c, reading.min_cell_temperature as min_cell_temperature_c,
    reading.max_cell_temperature as max_cell_temperature_c, reading.lifetime_power_use as lifetime_power_use_kwh,
    reading.lifetime_charge_power as lifetime_charge_power_kwh
  from reading join vehicle on vehicle.id = reading.vehicle_id and vehicle.application_id = reading.application_id
  where reading.application_id = any (array(select id from report_scope)) and vehicle.deleted_at is null;

-- Positions in privacy intervals are not stored, and removed when an interval is set later; the condition also covers an
-- interval that somebody enters by hand.
create view fleet.positions with (security_barrier) as
  select reading.time, reading.vehicle_id, vehicle.plate, reading.latitude, reading.longitude, reading.speed as speed_kmh,
    reading.angle as heading_degrees, reading.altitude as altitude_m, reading.satellites
  from reading join vehicle on vehicle.id = reading.vehicle_id and vehicle.application_id = reading.application_id
  where reading.application_id = any (array(select id from report_scope)) and vehicle.deleted_at is null
    and reading.latitude is not null and reading.longitude is not null
    and not exists (select from privacy_period where privacy_period.vehicle_id = reading.vehicle_id
      and privacy_period.period @> reading.time);

create view fleet.trips with (security_barrier) as
  select trip.id as trip_id, trip.vehicle_id, scope.app_id, vehicle.plate, trip.started_at, trip.ended_at,
    extract(epoch from trip.ended_at - trip.started_at)::double precision / 60 as duration_minutes, trip.distance_km,
    trip.distance_km / (extract(epoch from trip.ended_at - trip.started_at)::double precision / 3600) as average_speed_kmh,
    coalesce(trip.fuel_litres, trip.fuel_percent / 100 * nullif(vehicle.tank_litres, 0)) as fuel_litres,
    trip.electric_kwh, trip.inferred,
    case when not start.is_private then trip.first_latitude end as first_latitude,
    case when not start.is_private then trip.first_longitude end as first_longitude,
    case when not finish.is_private then trip.last_latitude end as last_latitude,
    case when not finish.is_private then trip.last_longitude end as last_longitude
  from trip join vehicle on vehicle.id = trip.vehicle_id join report_scope as scope on scope.id = vehicle.application_id
  cross join lateral (select exists (select from privacy_period where privacy_period.vehicle_id = trip.vehicle_id
    and privacy_period.period @> trip.started_at) as is_private) as start
  cross join lateral (select exists (select from privacy_period where privacy_period.vehicle_id = trip.vehicle_id
    and privacy_period.period @> trip.ended_at) as is_private) as finish
  where vehicle.deleted_at is null and trip.ends_known_at <= now();

create view fleet.alarms with (security_barrier) as
  select alarm.id as alarm_id, alarm.vehicle_id, scope.app_id, vehicle.plate, alarm.kind, alarm_rule.name as rule,
    alarm.raised_at, alarm.noticed_at, alarm.cleared_at, coalesce(alarm.cleared_at, 'infinity') = 'infinity' as is_open,
    alarm.value, case when not private.is_on then alarm.latitude end as latitude,
    case when not private.is_on then alarm.longitude end as longitude, alarm.acknowledged_at, alarm.acknowledged_by, alarm.note
  from alarm join alarm_rule on alarm_rule.id = alarm.rule_id join vehicle on vehicle.id = alarm.vehicle_id
  join report_scope as scope on scope.id = alarm.application_id
  cross join lateral (select exists (select from privacy_period where privacy_period.vehicle_id = alarm.vehicle_id
    and privacy_period.period @> alarm.raised_at) as is_on) as private
  where vehicle.deleted_at is null;

create view fleet.commands with (security_barrier) as
  select command.id as command_id, command.vehicle_id, scope.app_id, vehicle.plate, command.device_id, command.action,
    command.state, command.created_at, command.sent_at, command.ended_at,
    extract(epoch from command.ended_at - command.created_at)::double precision as duration_seconds, command.cause
  from command join vehicle on vehicle.id = command.vehicle_id
  join report_scope as scope on scope.id = command.application_id
  where vehicle.deleted_at is null;

create view fleet.bookings with (security_barrier) as
  select booking.id as booking_id, booking.vehicle_id, scope.app_id, vehicle.plate, booking.user_id, booking.type,
    booking.starts_at, booking.ends_at, booking.stopped_at, booking.created_at
  from booking join vehicle on vehicle.id = booking.vehicle_id
  join report_scope as scope on scope.id = booking.application_id
  where vehicle.deleted_at is null and booking.deleted_at is null;

create view fleet.devices with (security_barrier) as
  select device.id as device_id, scope.app_id, device.model_id as model, device_model.protocol, device_link.vehicle_id,
    vehicle.plate, lower(device_link.period) as linked_at, device_sequence.open_gaps, device_sequence.missing_readings,
    device.created_at
  from device join report_scope as scope on scope.id = device.application_id
  join device_model on device_model.id = device.model_id
  left join device_link on device_link.device_id = device.id and device_link.period @> now()
  left join vehicle on vehicle.id = device_link.vehicle_id and vehicle.deleted_at is null
  left join device_sequence on device_sequence.device_id = device.id
  where device.deleted_at is null;

-- As GET /v1/x/vehicle/{id}/gaps: only gaps that were noticed while the device was linked to the vehicle.
create view fleet.gaps with (security_barrier) as
  select gap.device_id, device_link.vehicle_id, scope.app_id, vehicle.plate, gap.from_sequence, gap.until_sequence,
    gap.until_sequence - gap.from_sequence + 1 as missing_readings, gap.state, gap.noticed_at, gap.closed_at
  from vehicle join report_scope as scope on scope.id = vehicle.application_id
  join device_link on device_link.vehicle_id = vehicle.id
  cross join lateral (
    select device_sequence.device_id, (one ->> 'from')::bigint as from_sequence, (one ->> 'until')::bigint as until_sequence,
      'OPEN' as state, to_timestamp((one ->> 'sinceMs')::bigint / 1000.0) as noticed_at, null::timestamptz as closed_at
    from device_sequence cross join lateral jsonb_array_elements(device_sequence.gaps) as one
    where device_sequence.device_id = device_link.device_id
    union all
    select closed_gap.device_id, closed_gap.from_sequence, closed_gap.until_sequence, closed_gap.outcome, closed_gap.since, closed_gap.closed_at
    from closed_gap where closed_gap.device_id = device_link.device_id) as gap
  where vehicle.deleted_at is null and device_link.period @> gap.noticed_at;

comment on view fleet.applications is 'Applications that this database user may see';
comment on view fleet.vehicles is 'Vehicles with their latest state; without position, speed and parking time while location privacy is on';
comment on view fleet.readings is 'Numeric values of readings by device time; filter by time, and by vehicle_id or plate';
comment on view fleet.positions is 'Positions by device time; filter by time, and by vehicle_id or plate. None in privacy intervals';
comment on view fleet.trips is 'Completed trips';
comment on view fleet.alarms is 'Alarms, open and cleared';
comment on view fleet.commands is 'Commands to vehicles with their outcome';
comment on view fleet.bookings is 'Bookings and free-floating rentals';
comment on view fleet.devices is 'Devices and the vehicle that each is linked to now';
comment on view fleet.gaps is 'Readings that a device numbered and that did not arrive';

do $$
declare
  -- a column means the same in every view that has it
  meanings constant jsonb := '{
    "time": "device time", "received_at": "when the platform received it", "vehicle_id": "id of the vehicle, ten digits",
    "app_id": "application", "plate": "license plate", "device_id": "id of the device", "latitude": "decimal degrees",
    "longitude": "decimal degrees", "speed_kmh": "km/h", "heading_degrees": "degrees, 0 is north", "altitude_m": "metres",
    "mileage_km": "odometer, km", "range_km": "remaining range, km", "soc_percent": "charge level, %",
    "soh_percent": "health of the battery, %", "current_a": "ampere", "voltage_v": "volt", "energy_kwh": "energy in the battery, kWh",
    "max_energy_kwh": "energy of the full battery, kWh", "temperature_c": "temperature of the battery, degrees Celsius",
    "contact_age_minutes": "minutes since the last reading was received", "last_contact_at": "when the last reading was received",
    "state": "of a vehicle: moving, parked, silent, private, archived; of a command: pending, sent, acknowledged, refused, unknown, expired; of a gap: OPEN, ARRIVED, RESTARTED, GIVEN_UP",
    "flags": "raised state flags", "open_alarms": "number of open alarms", "position_at": "device time of the position",
    "parked_since": "device time at which the ignition was switched off", "distance_km": "km", "duration_minutes": "minutes",
    "average_speed_kmh": "km/h", "fuel_litres": "litres; null if unknown", "electric_kwh": "kWh; null if unknown",
    "inferred": "concluded across a gap in the readings", "kind": "of an alarm: towing, crash, jamming, silent, low-battery, geofence, speed, unanswered-command; of a vehicle: VP and others",
    "value": "what the reading showed: km/h, percent, volts or minutes", "is_open": "not cleared yet",
    "raised_at": "device time of the reading that raised it", "cleared_at": "device time of the reading that cleared it",
    "noticed_at": "when the platform noticed it", "duration_seconds": "from the request to the outcome", "cause": "why it was not acknowledged",
    "user_id": "the driver, as the application names it", "type": "BOOKING or FREE_FLOATING", "ends_at": "exclusive; null while open",
    "missing_readings": "readings that did not arrive", "until_sequence": "last missing number, inclusive"}';
  shown record;
begin
  for shown in select attrelid::regclass as view, attname as name from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'fleet'::regnamespace and attnum > 0 and meanings ? attname loop
    execute format('comment on column %s.%I is %L', shown.view, shown.name, meanings ->> shown.name);
  end loop;
end $$;

-- Ends the transactions of report logins that are open for longer, because the change feed waits for every open transaction.
-- A login may raise its own statement_timeout. Returns how many were ended.
create function end_long_reports(longest interval) returns integer
language sql security definer set search_path = public, pg_temp as $$
  select count(*) filter (where pg_terminate_backend(pid))::integer from pg_stat_activity
  where datname = current_database() and usename in (select login from report_login) and xact_start < now() - longest
$$;
revoke all on function end_long_reports(interval) from public;
