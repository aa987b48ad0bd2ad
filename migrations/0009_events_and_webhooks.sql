-- The list of events: what happened, for other systems. Triggers write it in the transaction of the change, whoever makes it.
-- Readings are not in it: those who ask for them read reading_change.

create table event (
  application_id integer not null references application,
  -- Order of the list, with id. Not below that of an earlier event of the vehicle: a transaction that began first may have
  -- waited for another one.
  transaction_id xid8 not null,
  id bigint generated always as identity,
  stored_at timestamptz not null default now(),
  -- of contracts/events.ts
  type text not null,
  vehicle_id integer references vehicle,
  occurred_at timestamptz not null,
  -- id of the alarm, booking, … whose content is read with the event
  subject text not null,
  -- what the resource itself does not say; never a position or a person
  details jsonb,
  primary key (application_id, transaction_id, id)
);
create index event_age on event (stored_at);
create index event_vehicle on event (vehicle_id, transaction_id);

-- Writes an event of a vehicle; none of a deleted one, so that its purge leaves nothing.
create function record_event(event_type text, of_vehicle integer, at timestamptz, of_subject text, with_details jsonb default null)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare
  owner integer;
  earlier xid8;
begin
  select application_id into owner from vehicle where id = of_vehicle and deleted_at is null;
  if not found then return; end if;
  select transaction_id into earlier from event where vehicle_id = of_vehicle order by transaction_id desc limit 1;
  insert into event (application_id, transaction_id, type, vehicle_id, occurred_at, subject, details)
    values (owner, greatest(pg_current_xact_id(), earlier), event_type, of_vehicle, at, of_subject, with_details);
end $$;

create function record_command() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform record_event('command.ended', new.vehicle_id, coalesce(new.ended_at, now()), new.id::text);
  return null;
end $$;
create trigger event_on_insert after insert on command
  for each row when (new.state not in ('pending', 'sent')) execute function record_command();
-- also when a late acknowledgement replaces the state unknown
create trigger event_on_update after update of state on command
  for each row when (new.state not in ('pending', 'sent') and new.state <> old.state) execute function record_command();

create function record_alarm() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then perform record_event('alarm.raised', new.vehicle_id, new.raised_at, new.id::text); end if;
  if new.cleared_at is not null then
    perform record_event('alarm.cleared', new.vehicle_id, new.cleared_at, new.id::text);
  end if;
  return null;
end $$;
create trigger event_on_insert after insert on alarm for each row execute function record_alarm();
create trigger event_on_update after update of cleared_at on alarm
  for each row when (old.cleared_at is null and new.cleared_at is not null) execute function record_alarm();

-- What ends by time ends without a statement; record_due_events marks it, and the mark writes the event.
alter table booking add column end_recorded boolean not null default false;
create index booking_end_unrecorded on booking (ends_at) where not end_recorded;

create function mark_booking() returns trigger language plpgsql as $$
begin
  new.end_recorded := new.stopped_at is not null or new.deleted_at is not null
    or (new.end_recorded and coalesce(new.ends_at <= clock_timestamp(), false));
  return new;
end $$;
create trigger event_mark before insert or update on booking for each row execute function mark_booking();

create function record_booking() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform record_event('booking.created', new.vehicle_id, new.created_at, new.id::text);
  end if;
  if new.end_recorded and (tg_op = 'INSERT' or not old.end_recorded) then
    perform record_event('booking.ended', new.vehicle_id, least(new.deleted_at, new.stopped_at, new.ends_at), new.id::text);
  elsif tg_op = 'UPDATE' then
    perform record_event('booking.changed', new.vehicle_id, clock_timestamp(), new.id::text);
  end if;
  return null;
end $$;
create trigger event_on_insert after insert on booking for each row execute function record_booking();
create trigger event_on_update after update on booking for each row
  when ((old.starts_at, old.ends_at, old.type, old.authorization_id, old.stopped_at, old.deleted_at, old.end_recorded)
    is distinct from (new.starts_at, new.ends_at, new.type, new.authorization_id, new.stopped_at, new.deleted_at, new.end_recorded))
  execute function record_booking();

alter table bluetooth_authorization add column end_recorded boolean not null default false;
create index bluetooth_authorization_end_unrecorded on bluetooth_authorization (valid_until) where not end_recorded;

create function mark_authorization() returns trigger language plpgsql as $$
begin
  new.end_recorded := new.revoked_at is not null or (new.end_recorded and new.valid_until <= clock_timestamp());
  return new;
end $$;
create trigger event_mark before insert or update on bluetooth_authorization
  for each row execute function mark_authorization();

create function record_authorization() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform record_event('authorization.created', new.vehicle_id, new.created_at, new.id::text);
  end if;
  if new.end_recorded and (tg_op = 'INSERT' or not old.end_recorded) then
    perform record_event('authorization.ended', new.vehicle_id, least(new.revoked_at, new.valid_until), new.id::text);
  elsif tg_op = 'UPDATE' then
    perform record_event('authorization.changed', new.vehicle_id, clock_timestamp(), new.id::text);
  end if;
  return null;
end $$;
create trigger event_on_insert after insert on bluetooth_authorization
  for each row execute function record_authorization();
create trigger event_on_update after update on bluetooth_authorization for each row
  when ((old.valid_from, old.valid_until, old.level, old.suspended_until, old.end_recorded)
    is distinct from (new.valid_from, new.valid_until, new.level, new.suspended_until, new.end_recorded))
  execute function record_authorization();

create function record_state() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  flags text[] := '{towing,accident,maintenance,breakdown,stolen,unavailable}';
begin
  perform record_event('state.changed', new.id, clock_timestamp(), new.id::text, jsonb_build_object('changed', (
    select jsonb_object_agg(flag, to_jsonb(new) -> flag) from unnest(flags) as flag
    where to_jsonb(new) -> flag <> to_jsonb(old) -> flag)));
  return null;
end $$;
create trigger event_on_update after update of towing, accident, maintenance, breakdown, stolen, unavailable on vehicle
  for each row when ((old.towing, old.accident, old.maintenance, old.breakdown, old.stolen, old.unavailable)
    is distinct from (new.towing, new.accident, new.maintenance, new.breakdown, new.stolen, new.unavailable))
  execute function record_state();

-- Writes the ends of a link as the interface shows them; an unbounded end is left out.
create function describe_link(period tstzrange) returns jsonb language sql stable set search_path = public, pg_temp as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'from', to_char(nullif(lower(period), '-infinity') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'until', to_char(nullif(upper(period), 'infinity') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
$$;

create function record_link() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  ended tstzrange;
begin
  if tg_op <> 'INSERT' and upper_inf(old.period) then
    ended := case when tg_op = 'UPDATE' and not upper_inf(new.period) then new.period
      else tstzrange(lower(old.period), greatest(lower(old.period), clock_timestamp())) end;
    perform record_event('device.unlinked', old.vehicle_id, coalesce(upper(ended), clock_timestamp()), old.device_id,
      describe_link(ended));
  end if;
  if tg_op <> 'DELETE' and upper_inf(new.period) then
    perform record_event('device.linked', new.vehicle_id, clock_timestamp(), new.device_id, describe_link(new.period));
  end if;
  return null;
end $$;
create trigger event_on_insert after insert on device_link for each row execute function record_link();
create trigger event_on_update after update on device_link for each row
  when ((old.device_id, old.vehicle_id, upper_inf(old.period)) is distinct from (new.device_id, new.vehicle_id, upper_inf(new.period)))
  execute function record_link();
create trigger event_on_delete after delete on device_link for each row execute function record_link();

-- A device without a link belongs to no vehicle, one without an owner to no application.
create function record_quarantine() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  linked integer := (select vehicle_id from device_link where device_id = new.device_id and period @> new.received_at);
begin
  if linked is not null and (new.application_id is null
      or new.application_id = (select application_id from vehicle where id = linked)) then
    perform record_event('upload.quarantined', linked, new.received_at, new.id::text);
    return null;
  end if;
  insert into event (application_id, transaction_id, type, occurred_at, subject)
    select owner.id, pg_current_xact_id(), 'upload.quarantined', new.received_at, new.id::text
    from (select coalesce(new.application_id, (select application_id from device where device.id = new.device_id)) as id) as owner
    where owner.id is not null;
  return null;
end $$;
-- Values dropped from stored readings are no uploads that wait to be stored.
create trigger event_on_insert after insert on quarantine for each row when (not new.is_partial)
  execute function record_quarantine();

-- A trip is finished when its end is known, which silence may decide.
alter table trip add column end_recorded boolean not null default false;
create index trip_end_unrecorded on trip (ends_known_at) where not end_recorded;

create function mark_trip() returns trigger language plpgsql as $$
begin
  new.end_recorded := new.ends_known_at <= clock_timestamp();
  return new;
end $$;
create trigger event_mark before insert or update on trip for each row execute function mark_trip();

create function record_trip() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op <> 'INSERT' and old.end_recorded then
    perform record_event('trip.changed', old.vehicle_id, clock_timestamp(), old.id::text);
  elsif tg_op <> 'DELETE' and new.end_recorded then
    perform record_event('trip.finished', new.vehicle_id, new.ended_at, new.id::text);
  end if;
  return null;
end $$;
create trigger event_on_insert after insert on trip for each row execute function record_trip();
-- Retention removes the end points of old trips, which is no event; privacy removes those of new ones, which is one.
create trigger event_on_update after update on trip for each row
  when (old.end_recorded <> new.end_recorded
    or (old.started_at, old.ended_at, old.inferred, old.distance_km, old.fuel_litres, old.fuel_percent, old.electric_kwh)
      is distinct from (new.started_at, new.ended_at, new.inferred, new.distance_km, new.fuel_litres, new.fuel_percent, new.electric_kwh)
    or new.ended_at > now() - interval '1 day'
      and (old.first_latitude, old.first_longitude, old.last_latitude, old.last_longitude)
        is distinct from (new.first_latitude, new.first_longitude, new.last_latitude, new.last_longitude))
  execute function record_trip();
create trigger event_on_delete after delete on trip for each row execute function record_trip();

-- The last contact of each vehicle before the silence that was recorded last (services/ingest/alarms/watch.ts).
create table recorded_silence (
  vehicle_id integer primary key references vehicle,
  contact_at timestamptz not null,
  device_id text not null
);

create function record_silence() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform record_event('device.silent', new.vehicle_id, clock_timestamp(), new.device_id,
    jsonb_build_object('lastContact', to_char(new.contact_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
  return null;
end $$;
create trigger event_on_change after insert or update on recorded_silence for each row execute function record_silence();

-- The devices that were connected at the last check: sessions are in Redis (services/ingest/alarms/watch.ts).
create table recorded_connection (
  device_id text primary key references device on delete cascade
);

create function record_connection() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  changed text := case tg_op when 'INSERT' then new.device_id else old.device_id end;
begin
  perform record_event(case tg_op when 'INSERT' then 'device.connected' else 'device.disconnected' end,
    vehicle_id, clock_timestamp(), changed) from device_link where device_id = changed and period @> now();
  return null;
end $$;
create trigger event_on_insert after insert on recorded_connection for each row execute function record_connection();
create trigger event_on_delete after delete on recorded_connection for each row execute function record_connection();

-- Writes the events of what ended by time. Rows that are being changed wait for the next call.
create function record_due_events() returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  most integer := 5000;
  total integer := 0;
  changed integer;
begin
  update booking set end_recorded = true where id in (select id from booking
    where not end_recorded and ends_at <= now() order by ends_at limit most for no key update skip locked);
  get diagnostics changed = row_count;
  total := total + changed;
  update bluetooth_authorization set end_recorded = true where id in (select id from bluetooth_authorization
    where not end_recorded and valid_until <= now() order by valid_until limit most for no key update skip locked);
  get diagnostics changed = row_count;
  total := total + changed;
  update trip set end_recorded = true where id in (select id from trip
    where not end_recorded and ends_known_at <= now() order by ends_known_at limit most for no key update skip locked);
  get diagnostics changed = row_count;
  return total + changed;
end $$;

revoke all on function record_event(text, integer, timestamptz, text, jsonb), record_command(), record_alarm(),
  record_booking(), record_authorization(), record_state(), describe_link(tstzrange), record_link(), record_quarantine(), record_trip(), record_silence(),
  record_connection(), record_due_events() from public;

-- Webhooks: addresses that events of an application are sent to, and how far the delivery of each is.

create table webhook (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  url text not null,
  event_types text[] not null,
  -- false: events of the vehicles in webhook_vehicle alone
  all_vehicles boolean not null,
  -- signs deliveries; sealed, because signing needs the secret itself
  sealed_secret bytea not null,
  -- the secret being rotated out, which signs too until previous_secret_until
  sealed_previous_secret bytea,
  previous_secret_until timestamptz,
  created_at timestamptz not null default now(),
  -- null while it is delivered to
  disabled_at timestamptz,
  -- GONE: the receiver answered 410; REQUESTED: by the application
  disabled_reason text check (disabled_reason in ('GONE', 'REQUESTED')),
  -- increases with every change that the delivering process must read
  version integer not null default 1,
  -- events up to this position of the list were delivered, wait in webhook_retry, or are in webhook_dead_letter
  position text not null,
  position_saved_at timestamptz not null default clock_timestamp(),
  -- first failure since the last success
  failing_since timestamptz,
  -- pauses of the whole delivery since the last success, and the end of the last one
  pauses integer not null default 0,
  paused_until timestamptz,
  last_error text,
  last_success_at timestamptz,
  -- the process that delivers, exclusively
  lease uuid,
  leased_until timestamptz,
  constraint webhook_disabled check ((disabled_at is null) = (disabled_reason is null)),
  constraint webhook_previous_secret check ((sealed_previous_secret is null) = (previous_secret_until is null))
);
create index webhook_application on webhook (application_id, id);

create table webhook_vehicle (
  webhook_id uuid not null references webhook on delete cascade,
  vehicle_id integer not null references vehicle,
  primary key (webhook_id, vehicle_id)
);
create index webhook_vehicle_vehicle on webhook_vehicle (vehicle_id);

-- Vehicles whose next event was not delivered: their events after `position` wait, while those of other vehicles go on.
create table webhook_retry (
  webhook_id uuid not null references webhook on delete cascade,
  -- null: the events of no vehicle
  vehicle_id integer,
  position text not null,
  -- failures of the next event
  failures integer not null,
  failing_since timestamptz not null,
  next_attempt_at timestamptz not null,
  unique nulls not distinct (webhook_id, vehicle_id)
);

-- Events that could not be delivered for three days. An event itself is read from the list when it is sent again.
create table webhook_dead_letter (
  webhook_id uuid not null references webhook on delete cascade,
  event_id text not null,
  type text not null,
  vehicle_id integer,
  -- positions of the list right before and right behind the event
  position text not null,
  position_behind text not null,
  occurred_at timestamptz not null,
  failed_at timestamptz not null,
  error text not null,
  -- a replay was requested and has not been attempted
  replay_requested_at timestamptz,
  primary key (webhook_id, event_id)
);
create index webhook_dead_letter_failed on webhook_dead_letter (webhook_id, failed_at desc, event_id desc);
create index webhook_dead_letter_vehicle on webhook_dead_letter (vehicle_id);

-- The log of deliveries, without what was sent.
create table webhook_attempt (
  id bigint generated always as identity primary key,
  webhook_id uuid not null references webhook on delete cascade,
  at timestamptz not null,
  event_id text not null,
  type text not null,
  vehicle_id integer,
  -- counts the attempts at this event, from 1
  attempt integer not null,
  -- of the receiver's answer; null without one
  status smallint,
  duration_ms integer not null,
  -- null for a delivery that succeeded
  error text
);
create index webhook_attempt_webhook on webhook_attempt (webhook_id, id);
create index webhook_attempt_at on webhook_attempt using brin (at);
