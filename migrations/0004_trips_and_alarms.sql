-- Trips, how far the readings of each vehicle are segmented, and the readings still to be segmented.

create table trip (
  id uuid primary key default gen_random_uuid(),
  vehicle_id integer not null references vehicle on delete cascade,
  started_at timestamptz not null,
  ended_at timestamptz not null check (ended_at > started_at),
  -- when the end became known: time of the reading that ended the trip, or, under way, when silence will end it
  ends_known_at timestamptz not null,
  -- false while later readings may still extend the trip
  settled boolean not null,
  -- inferred across a gap in the readings
  inferred boolean not null,
  distance_km double precision not null,
  -- null: not known from the readings
  fuel_litres double precision,
  fuel_percent double precision,
  electric_kwh double precision,
  first_latitude double precision,
  first_longitude double precision,
  last_latitude double precision,
  last_longitude double precision
);
create index trip_vehicle on trip (vehicle_id, started_at);
create index trip_vehicle_end on trip (vehicle_id, ends_known_at);

-- State of the segmentation after the reading at this time, from which it can resume; the newest is the current one.
create table trip_checkpoint (
  vehicle_id integer not null references vehicle on delete cascade,
  time timestamptz not null,
  state jsonb not null,
  -- since the previous checkpoint
  readings integer not null,
  primary key (vehicle_id, time)
);

-- What one transaction stored: vehicles, with the first and last time of an interval of readings each.
create table trip_touched (
  id bigint generated always as identity primary key,
  vehicle_ids integer[] not null,
  firsts timestamptz[] not null,
  lasts timestamptz[] not null
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- The same by vehicle, in the order in which vehicles are processed.
create table trip_work (
  vehicle_id integer primary key references vehicle on delete cascade,
  touched tstzmultirange not null,
  -- incremented when something is added
  ticket bigint not null default 1,
  due_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
create index trip_work_due on trip_work (due_at);
create table trip_turn (
  vehicle_id integer primary key references vehicle on delete cascade,
  ended_at timestamptz not null
) with (fillfactor = 50);

-- Alarms: the rules that raise them, the areas that rules refer to, and the alarms themselves.

create table geofence (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  name text not null,
  -- GeoJSON: a Point with a radius, or a Polygon of one ring
  geometry jsonb not null,
  radius_metres double precision,
  created_at timestamptz not null default now(),
  check ((geometry ->> 'type' = 'Point') = (radius_metres is not null))
);
create index geofence_application on geofence (application_id, id);

create table alarm_rule (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  name text not null,
  kind text not null check (kind in
    ('towing', 'crash', 'jamming', 'silent', 'low-battery', 'geofence', 'speed', 'unanswered-command')),
  parameters jsonb not null default '{}',
  geofence_id uuid references geofence,
  -- false: the vehicles in alarm_rule_vehicle
  all_vehicles boolean not null,
  -- of its creation or last change; earlier readings do not count
  active_from timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default now(),
  -- the row stays for its alarms
  deleted_at timestamptz,
  check ((kind = 'geofence' and deleted_at is null) = (geofence_id is not null))
);
create index alarm_rule_application on alarm_rule (application_id, id) where deleted_at is null;
create index alarm_rule_geofence on alarm_rule (geofence_id) where geofence_id is not null;

create table alarm_rule_vehicle (
  rule_id uuid not null references alarm_rule,
  vehicle_id integer not null references vehicle,
  primary key (rule_id, vehicle_id)
);
create index alarm_rule_vehicle_vehicle on alarm_rule_vehicle (vehicle_id);

create table alarm (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  rule_id uuid not null references alarm_rule,
  vehicle_id integer not null references vehicle,
  kind text not null,
  -- device time of the oldest reading that shows the condition
  raised_at timestamptz not null,
  noticed_at timestamptz not null default clock_timestamp(),
  -- device time of the first reading after it that shows the opposite; null while the alarm is open
  cleared_at timestamptz check (cleared_at >= raised_at),
  -- what the reading showed: km/h, percent, volts or minutes
  value double precision,
  latitude double precision,
  longitude double precision,
  -- the command that nobody answered
  command_id uuid,
  acknowledged_at timestamptz,
  acknowledged_by text,
  note text
);
create unique index alarm_raised on alarm (rule_id, vehicle_id, raised_at) where command_id is null;
create unique index alarm_open on alarm (rule_id, vehicle_id) where cleared_at is null and command_id is null;
create unique index alarm_command on alarm (rule_id, command_id) where command_id is not null;
create index alarm_application on alarm (application_id, raised_at, id);
create index alarm_vehicle on alarm (vehicle_id, raised_at, id);
-- Finds the alarms that are open or ended after a time, among many ended ones.
create index alarm_end on alarm (vehicle_id, coalesce(cleared_at, 'infinity'));

-- Since when the platform has checked for silent devices without a pause. Its own outage is no silence of a device.
create table alarm_watch (
  single boolean primary key default true check (single),
  since timestamptz not null,
  checked_at timestamptz not null
);

-- Ingest caches rules, as it caches links (0003_readings.sql).
create sequence alarm_rule_version;
select setval('alarm_rule_version', 1);

create trigger alarm_rule_change before insert or update or delete or truncate on alarm_rule
  for each statement execute function before_ingest_decision('alarm_rule_version');
create trigger alarm_rule_change before insert or update or delete or truncate on alarm_rule_vehicle
  for each statement execute function before_ingest_decision('alarm_rule_version');
create trigger alarm_rule_change before insert or update or delete or truncate on geofence
  for each statement execute function before_ingest_decision('alarm_rule_version');
