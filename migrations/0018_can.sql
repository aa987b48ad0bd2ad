-- The DBC files by which the raw CAN frames of vehicles are decoded, and the decoding of stored frames.

create table can_database (
  -- as the operator wrote it; compared with vehicle.model, ignoring case
  model text not null check (model <> ''),
  file text not null,
  dbc text not null,
  -- of dbc in UTF-8, in hexadecimal
  sha256 text not null,
  messages integer not null,
  signals integer not null,
  -- keys of values that are removed with private positions
  position_keys text[] not null,
  imported_at timestamptz not null default now()
);
create unique index can_database_model on can_database (lower(model));
create index vehicle_model on vehicle (lower(model), id) where deleted_at is null;

-- One row for each time an operator has frames decoded again. Ingest works through the vehicles of the model by id, and
-- through the readings of each by time.
create table can_redecoding (
  id bigint generated always as identity primary key,
  model text not null,
  -- device times, half-open; null for no bound
  from_time timestamptz,
  until_time timestamptz,
  requested_at timestamptz not null default clock_timestamp(),
  -- the vehicle in progress, and the time of its last reading that was decoded; null for the first vehicle and reading
  vehicle_id integer,
  time timestamptz,
  vehicles_done integer not null default 0,
  readings_done bigint not null default 0,
  readings_changed bigint not null default 0,
  finished_at timestamptz
);
create index can_redecoding_open on can_redecoding (id) where finished_at is null;

-- Ingest caches databases, and which one each vehicle has, as it caches links (0004_ingest_barrier.sql), but under a version
-- of their own.
create function before_can_database_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7305114903);
  perform nextval('can_database_version');
  return null;
end $$;
revoke all on function before_can_database_change() from public;

create trigger can_database_change before insert or update or delete or truncate on can_database
  for each statement execute function before_can_database_change();
create trigger can_database_change before update of model on vehicle
  for each statement execute function before_can_database_change();
