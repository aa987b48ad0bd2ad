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
create index command_unanswered on command (application_id, ended_at) where state in ('unknown', 'expired');

-- Since when the platform has checked for silent devices without a pause. Its own outage is no silence of a device.
create table alarm_watch (
  single boolean primary key default true check (single),
  since timestamptz not null,
  checked_at timestamptz not null
);

-- Ingest caches rules, as it caches links (0004_ingest_barrier.sql), but under a version of their own.
create function before_alarm_rule_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7305114903);
  perform nextval('alarm_rule_version');
  return null;
end $$;
revoke all on function before_alarm_rule_change() from public;

create trigger alarm_rule_change before insert or update or delete or truncate on alarm_rule
  for each statement execute function before_alarm_rule_change();
create trigger alarm_rule_change before insert or update or delete or truncate on alarm_rule_vehicle
  for each statement execute function before_alarm_rule_change();
create trigger alarm_rule_change before insert or update or delete or truncate on geofence
  for each statement execute function before_alarm_rule_change();
