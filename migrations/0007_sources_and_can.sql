-- Other systems that forward what their devices said, and which devices they speak for.

create table source (
  id uuid primary key default gen_random_uuid(),
  -- it writes for devices of this application only
  application_id integer not null references application,
  format text not null check (format in ('traccar', 'flespi', 'tesla', 'owntracks', 'osmand')),
  secret_sha256 bytea not null unique,
  -- the secret being rotated out: valid until the new one is first used, and no longer than previous_secret_until
  previous_secret_sha256 bytea unique,
  previous_secret_until timestamptz,
  -- devices that it names and that do not exist are created in stock of the application
  create_devices boolean not null default false,
  created_at timestamptz not null default now(),
  -- when it was last authenticated, to a few seconds
  last_seen_at timestamptz,
  messages bigint not null default 0,
  -- messages of devices that were no devices of the application
  unknown_messages bigint not null default 0,
  -- requests that it has to send again, or that cannot be understood
  refused_requests bigint not null default 0,
  -- the token by which the gateway sends commands to the other system, sealed; null: it takes none
  sealed_command_token bytea,
  takes_commands boolean not null default false,
  -- its secrets are no longer valid
  deleted_at timestamptz,
  constraint source_command_token check (takes_commands = (sealed_command_token is not null) and (format = 'flespi' or not takes_commands)),
  constraint source_previous_secret check ((previous_secret_sha256 is null) = (previous_secret_until is null))
);
create index source_application on source (application_id) where deleted_at is null;

-- The devices of the application that a source has sent messages of.
create table source_device (
  source_id uuid not null references source,
  device_id text not null references device,
  primary key (source_id, device_id)
);

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

-- Ingest caches databases, and which one each vehicle has, as it caches links (0003_readings.sql).
create sequence can_database_version;
select setval('can_database_version', 1);

create trigger can_database_change before insert or update or delete or truncate on can_database
  for each statement execute function before_ingest_decision('can_database_version');
create trigger can_database_change before update of model on vehicle
  for each statement execute function before_ingest_decision('can_database_version');
