-- Which readings of which device are missing, told by the sequence that devices count their readings with.

-- What is known of the count that is under way at each device. Bounded: services/ingest/gaps/ledger.ts keeps the ranges few.
create table device_sequence (
  device_id text primary key references device on delete cascade,
  -- device time of the first reading after the device began to count anew; null when it never did
  started_us bigint,
  -- the newest device time of a reading
  newest_us bigint,
  received int8multirange not null default '{}',
  -- the open gaps, [{ "from", "until", "sinceMs" }], both ends included
  gaps jsonb not null default '[]',
  open_gaps integer not null default 0,
  missing_readings bigint not null default 0
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
create index device_sequence_open on device_sequence (device_id) include (open_gaps, missing_readings)
  where open_gaps > 0;

create table closed_gap (
  device_id text not null references device on delete cascade,
  from_sequence bigint not null,
  until_sequence bigint not null check (until_sequence >= from_sequence),
  since timestamptz not null,
  closed_at timestamptz not null,
  outcome text not null check (outcome in ('ARRIVED', 'RESTARTED', 'GIVEN_UP'))
);
create index closed_gap_device on closed_gap (device_id, closed_at);
create index closed_gap_age on closed_gap (closed_at);
