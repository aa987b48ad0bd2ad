-- Commands: the row is the state machine.
create table command (
  id uuid primary key default gen_random_uuid(),
  -- order in which the commands of a vehicle are sent
  position bigint generated always as identity,
  application_id integer not null references application,
  vehicle_id integer not null references vehicle,
  user_id uuid references user_account,
  device_id text not null references device,
  action text not null,
  state text not null default 'pending'
    check (state in ('pending', 'sent', 'acknowledged', 'refused', 'unknown', 'expired')),
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  expires_at timestamptz not null,
  ended_at timestamptz,
  -- why it was not acknowledged; the `reason` of the answer
  cause text,
  -- as the device reported them
  status text,
  reason text,
  idempotency_key text
);
-- Idempotency keys of a user are separate from those of the application and of its other users.
create unique index command_idempotency on command (application_id, idempotency_key, user_id) nulls not distinct
  where idempotency_key is not null;
-- A vehicle never has two commands in flight.
create unique index command_under_way on command (vehicle_id) where state = 'sent';
create index command_active on command (vehicle_id, position) where state in ('pending', 'sent');
create index command_vehicle on command (vehicle_id, position);
create index command_unanswered on command (application_id, ended_at) where state in ('unknown', 'expired');

-- Requests with an idempotency key, for 24 hours. Requests of remote actions are rows of `command`.
create table idempotent_request (
  -- the application, its user or the operator that made it
  principal text not null,
  key_sha256 bytea not null,
  -- HMAC of the path and the parameters
  fingerprint bytea not null,
  -- the status and the body of the answer, encrypted under ENCRYPTION_KEYS and the key of the request; null until it is answered
  sealed_answer bytea,
  created_at timestamptz not null default now(),
  primary key (principal, key_sha256)
);
create index idempotent_request_created_at on idempotent_request (created_at);

-- Bluetooth authorizations, device keys, bookings and parking.

create table bluetooth_authorization (
  id uuid primary key default gen_random_uuid(),
  vehicle_id integer not null references vehicle on delete cascade,
  -- the driver, as named by the application
  driver_id text not null,
  level text not null check (level in ('LOCK_UNLOCK', 'DRIVE')),
  valid_from timestamptz not null,
  -- exclusive
  valid_until timestamptz not null check (valid_until > valid_from),
  suspended_until timestamptz,
  revoked_at timestamptz,
  -- the authorization that an update replaced this one with
  replaced_by uuid,
  -- the user who issued it; null: the application
  issued_by uuid references user_account on delete set null,
  created_at timestamptz not null default now()
);
create index bluetooth_authorization_vehicle on bluetooth_authorization (vehicle_id, valid_until);
create index bluetooth_authorization_driver on bluetooth_authorization (driver_id, vehicle_id);

-- Follows updates to the newest authorization; the same id without any.
create function latest_authorization(first uuid) returns uuid language sql stable as $$
  with recursive chain (id, replaced_by) as (
    select id, replaced_by from bluetooth_authorization where id = first
    union all
    select next.id, next.replaced_by from chain join bluetooth_authorization next on next.id = chain.replaced_by)
  select coalesce((select id from chain where replaced_by is null), first)
$$;

-- The device key, and how far the key list on v1/devices/{id}/keys is published.
create table device_key (
  device_id text primary key references device on delete cascade,
  -- 32 bytes, encrypted under ENCRYPTION_KEYS
  sealed_key bytea not null,
  key_version integer not null default 1 check (key_version between 1 and 65535),
  -- authorization tokens of an earlier epoch are invalid; incremented when the device leaves its vehicle
  epoch bigint not null default 1,
  -- incremented by every change that the device must receive; published_version behind it: publication is due
  list_version bigint not null default 0,
  published_version bigint not null default 0,
  published_at timestamptz,
  confirmed_version bigint not null default 0,
  confirmed_at timestamptz,
  -- why the device refused the last key list
  refused_reason text,
  -- lease: one process at a time publishes for a device
  claim uuid,
  claimed_until timestamptz
);
create index device_key_due on device_key (device_id) where published_version < list_version;
create index device_key_unconfirmed on device_key (published_at) where confirmed_version < list_version;

-- The end of a link also invalidates the authorization tokens of its vehicle, whatever ended it.
create function end_tokens_with_link() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and upper_inf(new.period) and new.device_id = old.device_id and new.vehicle_id = old.vehicle_id then
    return null;
  end if;
  update device_key set epoch = epoch + 1, list_version = list_version + 1 where device_id = old.device_id;
  return null;
end $$;
create trigger device_link_tokens after update or delete on device_link
  for each row when (upper_inf(old.period)) execute function end_tokens_with_link();

-- So does archiving or deleting the vehicle.
create function end_tokens_with_vehicle() returns trigger language plpgsql as $$
begin
  update device_key set epoch = epoch + 1, list_version = list_version + 1
    where device_id in (select device_id from device_link where vehicle_id = new.id and upper_inf(period));
  return null;
end $$;
create trigger vehicle_tokens after update on vehicle
  for each row when ((old.archived_at is null and new.archived_at is not null)
    or (old.deleted_at is null and new.deleted_at is not null))
  execute function end_tokens_with_vehicle();

create table booking (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  vehicle_id integer not null references vehicle on delete cascade,
  -- the driver, as the interface shows it
  user_id text not null,
  -- account of that driver, if the application has one
  account_id uuid references user_account,
  type text not null check (type in ('BOOKING', 'FREE_FLOATING')),
  starts_at timestamptz not null,
  -- exclusive; null: open
  ends_at timestamptz,
  -- may have been replaced by an update (latest_authorization) or revoked on its own
  authorization_id uuid not null,
  created_at timestamptz not null default now(),
  stopped_at timestamptz,
  deleted_at timestamptz,
  check (ends_at >= starts_at),
  check (ends_at is not null or type = 'FREE_FLOATING'),
  -- Decides overlaps under concurrency. A booking stopped before its start has an empty interval.
  constraint booking_overlap exclude using gist (vehicle_id with =, tstzrange(starts_at, ends_at) with &&)
    where (deleted_at is null)
);
create index booking_vehicle on booking (vehicle_id, starts_at desc, id desc) where deleted_at is null;
-- the calendar over all vehicles
create index booking_interval on booking using gist (tstzrange(starts_at, ends_at)) where deleted_at is null;
create index booking_open on booking (application_id, coalesce(ends_at, 'infinity')) where deleted_at is null;

-- The end of a grant, or its reduction to reading, ends the bookings and authorizations of the user on the vehicle, and
-- the authorizations that it issued as a manager: it has their tokens.
create function end_access_with_grant() returns trigger language plpgsql as $$
declare
  ended_at timestamptz;
  -- a manager who becomes a driver keeps its own
  keeps_own boolean := tg_op = 'UPDATE' and new.role = 'driver';
begin
  -- waits for a booking in flight
  perform from vehicle where id = old.vehicle_id for no key update;
  ended_at := clock_timestamp();
  update booking set stopped_at = ended_at, ends_at = greatest(starts_at, ended_at)
    where not keeps_own and vehicle_id = old.vehicle_id and account_id = old.user_id and deleted_at is null and stopped_at is null
      and coalesce(ends_at, 'infinity') > ended_at;
  update bluetooth_authorization set revoked_at = ended_at
    where vehicle_id = old.vehicle_id and revoked_at is null and valid_until > ended_at and case
      when exists (select from user_account where user_account.id = old.user_id
        and lower(driver_id) in (user_account.id::text, lower(username))) then not keeps_own
      else issued_by = old.user_id or id in (select latest_authorization(authorization_id) from booking
        where vehicle_id = old.vehicle_id and account_id = old.user_id and stopped_at = ended_at) end;
  if found then
    update device_key set list_version = list_version + 1
      where device_id in (select device_id from device_link where vehicle_id = old.vehicle_id and upper_inf(period));
  end if;
  return null;
end $$;
create trigger vehicle_grant_deleted after delete on vehicle_grant
  for each row execute function end_access_with_grant();
create trigger vehicle_grant_reduced after update on vehicle_grant
  for each row when (new.role <> old.role and (new.role = 'viewer' or old.role = 'manager'))
  execute function end_access_with_grant();

create table parking (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  short_id text not null,
  name text not null,
  address text not null,
  address2 text not null default '',
  zipcode text not null,
  city text not null,
  country text not null,
  -- where it is on the map; null: not known
  latitude double precision check (latitude between -90 and 90),
  longitude double precision check (longitude between -180 and 180),
  created_at timestamptz not null default now(),
  constraint parking_place check ((latitude is null) = (longitude is null)),
  constraint parking_short_id unique (application_id, short_id)
);

create table vehicle_parking (
  vehicle_id integer primary key references vehicle on delete cascade,
  parking_id uuid not null references parking on delete cascade
);
create index vehicle_parking_spot on vehicle_parking (parking_id);

-- What applications publish to everyone as GBFS feeds.

create table gbfs_system (
  application_id integer primary key references application,
  -- public, part of the paths of the feeds
  system_id text not null,
  -- contracts/gbfs.ts
  settings jsonb not null,
  -- Key of the vehicle ids in the feeds, which change after each rental. With it, the ids of one vehicle can be told.
  id_key bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint gbfs_system_id unique (system_id)
);
