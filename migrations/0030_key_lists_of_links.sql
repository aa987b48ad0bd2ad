-- A device that gets a vehicle must receive its key list: without it, the device accepts authorizations that were
-- suspended before the link began.
create function send_list_with_link() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update device_key set list_version = list_version + 1 where device_id = new.device_id;
  return null;
end $$;
revoke all on function send_list_with_link() from public;
create trigger device_link_list after insert or update on device_link
  for each row when (upper_inf(new.period)) execute function send_list_with_link();

-- Devices that were linked earlier and may not know the current suspensions.
update device_key set list_version = list_version + 1 where device_id in (
  select link.device_id from device_link link join bluetooth_authorization using (vehicle_id)
  where upper_inf(link.period) and revoked_at is null and suspended_until > now());

-- The same holds for a device that gets its first key while it is linked.
alter table device_key alter column list_version set default 1;
