-- Applications, their accounts, vehicles, devices, and which device sat in which vehicle when.
create extension if not exists timescaledb;
create extension if not exists btree_gist;

create table application (
  id integer generated always as identity primary key,
  app_id text not null unique,
  app_key_sha256 bytea not null,
  name text not null,
  -- the shape of GET /v1/vehicles and GET /v1/vehicle/{id}/status: null is both at once
  view text check (view in ('dynamic', 'fleet')),
  created_at timestamptz not null default now()
);

create table user_account (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  username text not null,
  password_hash text not null,
  must_change_password boolean not null default false,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index user_account_username on user_account (application_id, lower(username)) where deleted_at is null;

-- A login and everything that was refreshed from it: revoked as one.
create table session (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  user_id uuid references user_account,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);

create table access_token (
  token_sha256 bytea primary key,
  session_id uuid not null references session on delete cascade,
  expires_at timestamptz not null
);
create index access_token_session on access_token (session_id);
create index access_token_expiry on access_token (expires_at);

create table refresh_token (
  token_sha256 bytea primary key,
  session_id uuid not null references session on delete cascade,
  expires_at timestamptz not null,
  spent_at timestamptz
);
create index refresh_token_session on refresh_token (session_id);
create index refresh_token_expiry on refresh_token (expires_at);

-- Ids are ten digits, so that their order as text is their order as numbers.
create table vehicle (
  id integer generated always as identity (start with 1000000001) primary key,
  application_id integer not null references application,
  plate text not null,
  vin text not null default '',
  brand text not null default '',
  model text not null default '',
  energy text not null default '',
  seats integer not null default 0,
  gearbox text not null default '' check (gearbox in ('', 'AUTOMATIC', 'MANUAL')),
  kind text not null default '',
  accessories text[] not null default '{}',
  towing boolean not null default false,
  accident boolean not null default false,
  maintenance boolean not null default false,
  breakdown boolean not null default false,
  stolen boolean not null default false,
  unavailable boolean not null default false,
  created_at timestamptz not null default now(),
  archived_at timestamptz,
  deleted_at timestamptz
);
create unique index vehicle_plate on vehicle (application_id, (regexp_replace(upper(plate), '[^A-Z0-9]', '', 'g')))
  where deleted_at is null;

create table vehicle_grant (
  user_id uuid not null references user_account,
  vehicle_id integer not null references vehicle,
  created_at timestamptz not null default now(),
  primary key (user_id, vehicle_id)
);

create table device_model (
  id text primary key,
  -- as the device protocol names them
  actions text[] not null,
  proprietary_can boolean not null,
  bluetooth boolean not null,
  -- the command strings of the device commands record that are encrypted before they are sent over Bluetooth
  encrypted_commands text[] not null default '{}',
  -- command string -> digital output, for the family that has them
  digital_outputs jsonb not null default '{}'
);
insert into device_model (id, actions, proprietary_can, bluetooth) values
  ('generic', '{IMMOBILIZE,START,LOCK,UNLOCK,HONK,TURNING-LIGHTS,UNLOCK-TRUNK,OPEN-WINDOWS,CLOSE-WINDOWS,STATUS}', true, true),
  ('tracker', '{}', false, false),
  ('obd', '{}', true, false);

create table device (
  id text primary key,
  model_id text not null references device_model,
  -- whose device it is; one in stock belongs to nobody until it is linked for the first time
  application_id integer references application,
  secret_sha256 bytea not null,
  bluetooth_name text not null default '',
  bluetooth_pin text not null default '',
  created_at timestamptz not null default now()
);

-- A reading belongs to the vehicle whose link holds its device time.
create table device_link (
  device_id text not null references device,
  vehicle_id integer not null references vehicle,
  period tstzrange not null check (not isempty(period)),
  exclude using gist (device_id with =, period with &&),
  exclude using gist (vehicle_id with =, period with &&)
);
create index device_link_vehicle on device_link (vehicle_id);
