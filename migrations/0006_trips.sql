-- Trips, how far each vehicle's readings are segmented, and which readings are still to be taken into account.
alter table application
  add column time_zone text not null default 'UTC' check (now() at time zone time_zone is not null),
  add column tariff_per_km double precision not null default 0 check (tariff_per_km >= 0 and tariff_per_km <= 1e9),
  add column tariff_per_minute double precision not null default 0
    check (tariff_per_minute >= 0 and tariff_per_minute <= 1e9);
-- 0 is unknown: fuel levels in percent then tell no litres.
alter table vehicle add column tank_litres double precision not null default 0
  check (tank_litres >= 0 and tank_litres <= 1e6);

create table trip (
  id uuid primary key default gen_random_uuid(),
  vehicle_id integer not null references vehicle on delete cascade,
  started_at timestamptz not null,
  ended_at timestamptz not null check (ended_at > started_at),
  -- from when on the trip counts as ended: the time of the reading that ended it, or, under way, when silence will
  ends_known_at timestamptz not null,
  -- false while later readings of the same drive may still be added
  settled boolean not null,
  -- driven across a gap of the readings
  inferred boolean not null,
  distance_km double precision not null,
  -- null where the readings do not tell
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

-- What the segmentation knew after the reading of this time, from which it can go on; the newest is where it stands.
create table trip_checkpoint (
  vehicle_id integer not null references vehicle on delete cascade,
  time timestamptz not null,
  state jsonb not null,
  -- since the checkpoint before
  readings integer not null,
  primary key (vehicle_id, time)
);

-- What a transaction stored: vehicles, and the first and last time of a stretch of readings of each.
create table trip_touched (
  id bigint generated always as identity primary key,
  vehicle_ids integer[] not null,
  firsts timestamptz[] not null,
  lasts timestamptz[] not null
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

-- The same by vehicle, in the order in which they take their turn.
create table trip_work (
  vehicle_id integer primary key references vehicle on delete cascade,
  touched tstzmultirange not null,
  -- counts up when something is added
  ticket bigint not null default 1,
  due_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
create index trip_work_due on trip_work (due_at);
create table trip_turn (
  vehicle_id integer primary key references vehicle on delete cascade,
  ended_at timestamptz not null
) with (fillfactor = 50);

insert into trip_work (vehicle_id, touched, due_at)
  select vehicle_id, tstzmultirange(tstzrange(null, time, '[]')), now() from vehicle_latest;
