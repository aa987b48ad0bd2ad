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
