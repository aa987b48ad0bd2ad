-- Notifications: readers of the list of events, as webhooks are, that tell people instead of programs. Cursor, lease, retries,
-- dead letters and log are those of a webhook without a URL.
alter table webhook alter column url drop not null;

create table notification (
  id uuid primary key references webhook on delete cascade,
  name text,
  -- its address and credentials are sealed in sealed_secret of the webhook
  channel text not null check (channel in ('email', 'push', 'telegram', 'slack', 'matrix', 'teams', 'sms')),
  -- what of the address people are shown
  target text not null,
  language text not null,
  -- null: that of the application
  time_zone text check (time_zone is null or now() at time zone time_zone is not null),
  -- alarms of these rules alone; null: of all
  rule_ids uuid[],
  -- vehicles of these groups and of those below them alone; null: of all
  group_ids uuid[],
  -- [{ weekdays, from, until }] of the time zone; null: always
  duty jsonb,
  max_per_hour integer not null,
  -- told of alarms that nobody has acknowledged after these minutes
  escalates_to uuid references webhook on delete set null,
  escalates_after_minutes integer
);
create index notification_escalates_to on notification (escalates_to);

-- Events beyond max_per_hour, until a digest lists them.
create table notification_held (
  notification_id uuid not null references webhook on delete cascade,
  event_id text not null,
  held_at timestamptz not null default clock_timestamp(),
  primary key (notification_id, event_id)
);

-- Alarms that were told, and when another notification is told of them. The rows stay, so that an alarm escalates once.
create table notification_escalation (
  notification_id uuid not null references webhook on delete cascade,
  alarm_id uuid not null references alarm on delete cascade,
  due_at timestamptz not null,
  escalated_at timestamptz,
  primary key (notification_id, alarm_id)
);
create index notification_escalation_alarm on notification_escalation (alarm_id);
create index notification_escalation_due on notification_escalation (due_at) where escalated_at is null;

-- The key pair by which push services know this installation (VAPID, RFC 8292); subscriptions of browsers are bound to it.
create table push_key (
  single boolean primary key default true check (single),
  public_key text not null,
  sealed_private_key bytea not null
);

alter table booking add column start_recorded boolean not null default false;
alter table booking add column overdue_recorded boolean not null default false;
create index booking_start_unrecorded on booking (starts_at) where not start_recorded;
create index booking_overdue_unrecorded on booking (ends_at) where not overdue_recorded;

create or replace function mark_booking() returns trigger language plpgsql as $$
begin
  new.end_recorded := new.stopped_at is not null or new.deleted_at is not null
    or (new.end_recorded and coalesce(new.ends_at <= clock_timestamp(), false));
  if tg_op = 'UPDATE' then
    new.start_recorded := new.start_recorded and new.starts_at = old.starts_at;
    new.overdue_recorded := new.overdue_recorded and new.ends_at is not distinct from old.ends_at;
  end if;
  return new;
end $$;

-- Writes the events of bookings that begin within half an hour, and of vehicles that are still driven ten minutes after a
-- booking has ended: by a trip that began before. Its readings may arrive late, but not hours late.
create function record_booking_times() returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  found record;
  total integer := 0;
begin
  for found in
    update booking set start_recorded = true where id in (select id from booking
      where not start_recorded and starts_at > now() and starts_at <= now() + interval '30 minutes' and type = 'BOOKING'
        and stopped_at is null and deleted_at is null limit 5000 for no key update skip locked)
    returning id, vehicle_id, 'booking.starting' as event
  loop
    perform record_event(found.event, found.vehicle_id, now(), found.id::text);
    total := total + 1;
  end loop;
  for found in
    update booking set overdue_recorded = true where id in (select id from booking
      where not overdue_recorded and ends_at between now() - interval '2 hours' and now() - interval '10 minutes'
        and stopped_at is null and deleted_at is null
        and exists (select from trip where trip.vehicle_id = booking.vehicle_id and trip.started_at < booking.ends_at
          and trip.ended_at >= booking.ends_at + interval '10 minutes')
      limit 5000 for no key update skip locked)
    returning id, vehicle_id, 'booking.overdue' as event
  loop
    perform record_event(found.event, found.vehicle_id, now(), found.id::text);
    total := total + 1;
  end loop;
  return total;
end $$;

-- Writes an event for each alarm that nobody acknowledged in time; only the notification that it names is told.
create function record_escalations() returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  found record;
  total integer := 0;
begin
  for found in
    update notification_escalation as due set escalated_at = now() from alarm, notification
    where due.escalated_at is null and due.due_at <= now() and alarm.id = due.alarm_id and notification.id = due.notification_id
    returning alarm.id, alarm.vehicle_id, alarm.acknowledged_at, notification.escalates_to
  loop
    continue when found.acknowledged_at is not null or found.escalates_to is null;
    perform record_event('alarm.escalated', found.vehicle_id, now(), found.id::text,
      jsonb_build_object('notificationId', found.escalates_to));
    total := total + 1;
  end loop;
  return total;
end $$;

revoke all on function record_booking_times(), record_escalations() from public;
