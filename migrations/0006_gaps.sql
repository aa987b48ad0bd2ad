-- Missing sequence numbers of each device.

-- State of the sequence that a device is counting. services/ingest/gaps/ledger.ts bounds the number of ranges.
create table device_sequence (
  device_id text primary key references device on delete cascade,
  -- device time of the first reading after the sequence restarted, in microseconds; null when it never did
  started_us bigint,
  -- newest device time of a reading, in microseconds
  newest_us bigint,
  received int8multirange not null default '{}',
  -- open gaps, [{ "from", "until", "sinceMs" }], both ends inclusive
  gaps jsonb not null default '[]',
  open_gaps integer not null default 0,
  missing_readings bigint not null default 0
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
create index device_sequence_open on device_sequence (device_id) include (open_gaps, missing_readings)
  where open_gaps > 0;

create table closed_gap (
  device_id text not null references device on delete cascade,
  from_sequence bigint not null,
  -- inclusive
  until_sequence bigint not null check (until_sequence >= from_sequence),
  since timestamptz not null,
  closed_at timestamptz not null,
  outcome text not null check (outcome in ('ARRIVED', 'RESTARTED', 'GIVEN_UP'))
);
create index closed_gap_device on closed_gap (device_id, closed_at);
create index closed_gap_age on closed_gap (closed_at);
