-- Cells: installations side by side, between which applications move (docs/scaling.md, "Cells").

alter table installation add column cell integer not null default 0 check (cell between 0 and 99);

-- Gives an unused installation its number. Ids that the rows of an application keep when it moves come from a range for each
-- cell, so that they are free in every other one. Sequences of the owner's tables, on behalf of every process that starts.
create function assign_cell(number integer) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  one record;
begin
  if (select cell from installation) = number then return; end if;
  if exists (select from application) or exists (select from device) then
    raise exception 'this installation is cell %: its number cannot change once it has applications or devices',
      (select cell from installation) using errcode = 'OD002';
  end if;
  update installation set cell = number;
  for one in select attrelid::regclass as owner, attname, atttypid = 'integer'::regtype as is_integer from pg_attribute
      join pg_class on pg_class.oid = attrelid
      where relnamespace = 'public'::regnamespace and relkind = 'r' and attidentity <> '' loop
    perform setval(pg_get_serial_sequence(one.owner::text, one.attname), case
      when one.owner = 'vehicle'::regclass then 1000000001 + number * 10000000::bigint
      when one.is_integer then 1 + number * 1000000::bigint
      else 1 + number * 10000000000000 end, false);
  end loop;
end $$;
revoke all on function assign_cell(integer) from public;

-- Set while an application moves: its devices and its changes are refused.
alter table application add column moving_since timestamptz;

-- The last move of each application: here the cell that it leaves, or the one that it arrives in.
create table application_move (
  application_id integer primary key,
  app_id text not null unique,
  -- purged: left, and its rows are deleted
  state text not null check (state in ('leaving', 'left', 'purged', 'arriving', 'arrived')),
  -- of the files; null until they are written
  move_id uuid,
  -- what the target gives out once everything is loaded; null there until then
  receipt text,
  -- what the source gives out for the receipt once it can no longer become active; the target has its hash
  release text,
  release_sha256 bytea,
  -- what the files have: the transactions of stored readings, and the number of quarantined uploads
  snapshot pg_snapshot,
  quarantined integer
);

-- Refuses changes of an application that moves. The row lock is that of a foreign key: it makes `odograph application
-- move-out` wait for the transactions that were first. Ingest may finish what it has, and its own upkeep is repeated by the
-- target. The argument is the column that leads to the application.
create function refuse_while_moving() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  key text;
  owner integer;
  since timestamptz;
begin
  for key in select distinct changed ->> tg_argv[0] from unnest(array[to_jsonb(old), to_jsonb(new)]) as changed
      where changed is not null and current_setting('application_name') not like 'odograph-ingest%' loop
    owner := case tg_argv[0]
      when 'application_id' then key::integer
      when 'vehicle_id' then (select application_id from vehicle where id = key::integer)
      when 'device_id' then (select application_id from device where id = key)
      when 'rule_id' then (select application_id from alarm_rule where id = key::uuid)
      when 'webhook_id' then (select application_id from webhook where id = key::uuid) end;
    select moving_since into since from application where id = owner for key share;
    if since is not null then
      raise exception 'the application is being moved to another cell' using errcode = 'OD001';
    end if;
  end loop;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$;
revoke all on function refuse_while_moving() from public;

do $$
declare
  -- table, column that leads to the application, columns that only requests change; all without any
  one text[];
  guarded constant text[] := array[
    ['user_account', 'application_id', ''], ['vehicle', 'application_id', ''], ['vehicle_request', 'application_id', ''],
    ['booking', 'application_id', ''], ['parking', 'application_id', ''], ['geofence', 'application_id', ''],
    ['alarm_rule', 'application_id', ''], ['gbfs_system', 'application_id', ''], ['registration_record', 'application_id', ''],
    ['registration_import', 'application_id', ''],
    ['vehicle_grant', 'vehicle_id', ''], ['privacy_period', 'vehicle_id', ''], ['device_link', 'vehicle_id', ''],
    ['bluetooth_authorization', 'vehicle_id', ''], ['vehicle_parking', 'vehicle_id', ''],
    ['alarm_rule_vehicle', 'rule_id', ''], ['webhook_vehicle', 'webhook_id', ''],
    ['alarm', 'application_id', ' of acknowledged_at, note'], ['webhook', 'application_id', ' of version'],
    ['device_key', 'device_id', ' of sealed_key, key_version, epoch'],
    ['source', 'application_id', ' of secret_sha256, create_devices, sealed_command_token, deleted_at'],
    ['device', 'application_id', ' of application_id, model_id, secret_sha256, certificates_issued_from, claim_code_sha256,
      bluetooth_name, bluetooth_pin, deleted_at']];
begin
  foreach one slice 1 in array guarded loop
    execute format('create trigger refuse_while_moving before insert or delete or update%s on %I for each row
      execute function refuse_while_moving(%L)', one[3], one[1], one[2]);
  end loop;
  -- commands end by themselves, and sessions stay in their cell
  create trigger refuse_while_moving before insert on command for each row
    execute function refuse_while_moving('application_id');
  create trigger refuse_while_moving before insert on session for each row
    execute function refuse_while_moving('application_id');
end $$;

-- Settings, keys and the deletion of an application are changes of it, too.
create function refuse_change_while_moving() returns trigger language plpgsql as $$
begin
  if old.moving_since is not null and new.moving_since is not null then
    raise exception 'the application is being moved to another cell' using errcode = 'OD001';
  end if;
  return new;
end $$;
create trigger refuse_while_moving before update of name, app_key_sha256, view, time_zone, tariff_per_km, tariff_per_minute,
    device_uploads_per_second, device_bytes_per_second, deleted_at on application
  for each row execute function refuse_change_while_moving();
