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
