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
