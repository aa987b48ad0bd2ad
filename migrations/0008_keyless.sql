-- Keyless access: who may open which vehicle when, and what each box was told of it.

create table bluetooth_authorization (
  id uuid primary key default gen_random_uuid(),
  vehicle_id integer not null references vehicle on delete cascade,
  -- the driver as the application names it
  driver_id text not null,
  level text not null check (level in ('LOCK_UNLOCK', 'DRIVE')),
  valid_from timestamptz not null,
  -- exclusive
  valid_until timestamptz not null check (valid_until > valid_from),
  suspended_until timestamptz,
  revoked_at timestamptz,
  -- the authorization that an update made of it
  replaced_by uuid,
  created_at timestamptz not null default now()
);
create index bluetooth_authorization_vehicle on bluetooth_authorization (vehicle_id, valid_until);
create index bluetooth_authorization_driver on bluetooth_authorization (driver_id, vehicle_id);

-- What a device shares with the platform, and how far the list of keys on v1/devices/{id}/keys has come.
create table device_key (
  device_id text primary key references device on delete cascade,
  -- 32 bytes, sealed under ENCRYPTION_KEYS
  sealed_key bytea not null,
  key_version integer not null default 1 check (key_version between 1 and 65535),
  -- tokens of an earlier epoch are worth nothing; grows when the device leaves its vehicle
  epoch bigint not null default 1,
  -- grows with every change the box must hear of; what is behind it is due to be published
  list_version bigint not null default 0,
  published_version bigint not null default 0,
  published_at timestamptz,
  confirmed_version bigint not null default 0,
  confirmed_at timestamptz,
  -- why the box did not take the list that it was last sent
  refused_reason text,
  -- one process at a time publishes for a device
  claim uuid,
  claimed_until timestamptz
);
create index device_key_due on device_key (device_id) where published_version < list_version;
create index device_key_unconfirmed on device_key (published_at) where confirmed_version < list_version;

-- Whatever ends the link of a device to its vehicle also ends the tokens that open this vehicle.
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
