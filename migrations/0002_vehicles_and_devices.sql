-- Vehicles, who may use them, and the devices linked to them.

-- Ids have ten digits, so they sort alike as text and as numbers.
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
  -- 0: unknown, so fuel levels in percent cannot be converted to litres
  tank_litres double precision not null default 0
    check (tank_litres >= 0 and tank_litres <= 1e6),
  towing boolean not null default false,
  accident boolean not null default false,
  maintenance boolean not null default false,
  breakdown boolean not null default false,
  stolen boolean not null default false,
  unavailable boolean not null default false,
  -- state flag -> time at which a person lowered it; older device reports do not raise it again
  states_lowered jsonb not null default '{}',
  created_at timestamptz not null default now(),
  archived_at timestamptz,
  deleted_at timestamptz,
  -- what people search: the plate also without its separators
  search_text text not null generated always as (lower(plate || ' ' || regexp_replace(plate, '[^A-Za-z0-9]', '', 'g')
    || ' ' || vin || ' ' || brand || ' ' || model)) stored
);
create unique index vehicle_plate on vehicle (application_id, (regexp_replace(upper(plate), '[^A-Z0-9]', '', 'g')))
  where deleted_at is null;

-- Order of the table of vehicles.
create index vehicle_order on vehicle ((lower(plate) collate "C"), id) where deleted_at is null;

create table vehicle_grant (
  user_id uuid not null references user_account,
  vehicle_id integer not null references vehicle,
  -- viewer: reads; driver: own bookings and authorizations, and actions within them; manager: everything on the vehicle
  role text not null default 'driver' check (role in ('viewer', 'driver', 'manager')),
  created_at timestamptz not null default now(),
  primary key (user_id, vehicle_id)
);

-- Requests of applications for vehicles, decided by the operator.
create table vehicle_request (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  user_id uuid references user_account,
  plate text not null,
  request text not null,
  state text not null default 'pending' check (state in ('pending', 'approved', 'declined')),
  vehicle_id integer,
  reason text,
  created_at timestamptz not null default now(),
  decided_at timestamptz
);
create index vehicle_request_pending on vehicle_request (created_at) where state = 'pending';
create index vehicle_request_order on vehicle_request (created_at, id);

-- Deleted vehicles whose data is being purged; the row stays as evidence that the purge was verified.
create table vehicle_purge (
  vehicle_id integer primary key,
  application_id integer not null,
  requested_at timestamptz not null default now(),
  verified_at timestamptz
);
create index vehicle_purge_open on vehicle_purge (requested_at) where verified_at is null;

-- Privacy intervals: positions of readings whose device time lies in one are private. An open interval means privacy is on.
create table privacy_period (
  vehicle_id integer not null references vehicle on delete cascade,
  period tstzrange not null check (not isempty(period)),
  exclude using gist (vehicle_id with =, period with &&)
);
-- Finds open and recent intervals among many closed ones.
create index privacy_period_end on privacy_period (coalesce(upper(period), 'infinity'));

-- The shipped ones are in device-models/, a file each.
create table device_model (
  id text primary key,
  -- how its devices report: to the MQTT broker, in a protocol of their own to the gateway, or through another system
  protocol text not null default 'mqtt' check (protocol in ('mqtt', 'teltonika', 'source')),
  -- actions by their names in the device protocol
  actions text[] not null,
  -- action -> what its devices are told and what their answers mean; for the protocols teltonika and source
  commands jsonb not null default '{}',
  proprietary_can boolean not null,
  bluetooth boolean not null,
  -- command strings of the device commands record that are encrypted before they are sent over Bluetooth
  encrypted_commands text[] not null default '{}',
  -- command string -> digital output, for the family that has digital outputs
  digital_outputs jsonb not null default '{}',
  -- monitored scenarii of the fleet vehicle status record -> action that the device takes
  scenarii jsonb not null default '{}',
  -- as it came with a release, so that a later one may change it; false once an operator has written it
  shipped boolean not null default false,
  -- the family of its Teltonika devices, which decides what their I/O elements mean; null: unknown
  family text check (family in ('fmb', 'ftc', 'tat', 'fmx6')),
  constraint device_model_family check (family is null or protocol = 'teltonika')
);

create table device (
  id text primary key,
  model_id text not null references device_model,
  -- null: in stock, until the device is linked for the first time
  application_id integer references application,
  secret_sha256 bytea not null,
  secret_issued_at timestamptz not null default now(),
  -- the secret being rotated out: valid until the new one is first used, and no longer than previous_secret_until
  previous_secret_sha256 bytea,
  previous_secret_until timestamptz,
  -- client certificates issued earlier are revoked; null: none revoked
  certificates_issued_from timestamptz,
  -- lets an application link a device without an owner; null: not claimable
  claim_code_sha256 bytea,
  bluetooth_name text not null default '',
  bluetooth_pin text not null default '',
  -- When the device left a vehicle that was then deleted, whose links are gone. Without it the next link would reach back
  -- without bound and claim readings of the deleted vehicle.
  left_deleted_vehicle_at timestamptz,
  created_at timestamptz not null default now(),
  -- the row stays for links and commands of the past
  deleted_at timestamptz,
  constraint device_previous_secret check ((previous_secret_sha256 is null) = (previous_secret_until is null))
);

-- Ends the overlap of two secrets once the device has used the new one. The broker may write to `device` through this only.
create function confirm_device_secret(confirmed_device text, used_sha256 bytea) returns void
language sql security definer set search_path = public, pg_temp as $$
  update device set previous_secret_sha256 = null, previous_secret_until = null
  where id = confirmed_device and secret_sha256 = used_sha256 and previous_secret_sha256 is not null
$$;
revoke all on function confirm_device_secret(text, bytea) from public;

-- A reading belongs to the vehicle whose link contains its device time.
create table device_link (
  device_id text not null references device,
  vehicle_id integer not null references vehicle,
  period tstzrange not null check (not isempty(period)),
  exclude using gist (device_id with =, period with &&),
  exclude using gist (vehicle_id with =, period with &&)
);
create index device_link_vehicle on device_link (vehicle_id);
