-- Readings, the latest state of each vehicle, the feed of changes, and the quarantine.

-- One row per vehicle and device time, so a repeated upload changes nothing.
create table reading (
  time timestamptz not null,
  application_id integer not null,
  vehicle_id integer not null,
  latitude double precision,
  longitude double precision,
  angle double precision,
  altitude double precision,
  speed double precision,
  satellites smallint,
  ignition boolean,
  movement boolean,
  mileage double precision,
  autonomy double precision,
  soh double precision,
  soc double precision,
  current double precision,
  voltage double precision,
  energy double precision,
  max_energy double precision,
  min_cell_voltage double precision,
  max_cell_voltage double precision,
  temperature double precision,
  min_cell_temperature double precision,
  max_cell_temperature double precision,
  lifetime_power_use double precision,
  lifetime_charge_power double precision,
  can jsonb,
  sensors jsonb,
  fleet jsonb,
  alarms jsonb,
  -- raw CAN frames as received; never with a reading in a privacy interval
  frames jsonb,
  -- values decoded from them, in the form of `can`; can holds what the device decoded itself
  decoded_can jsonb,
  device_id text not null,
  sequence bigint,
  received_at timestamptz not null,
  primary key (vehicle_id, time)
);
-- A week is the unit of compression and retention. Shorter chunks cost each query more locks and planning, and hold too few
-- readings of a vehicle to compress well (docs/performance.md).
select create_hypertable('reading', by_range('time', interval '7 days'), create_default_indexes => false);
create index reading_application_time on reading (application_id, time, vehicle_id);
alter table reading set (
  timescaledb.compress,
  timescaledb.compress_segmentby = 'application_id, vehicle_id',
  timescaledb.compress_orderby = 'time'
);

-- Each field group with the device time of its last report; older data never overwrites a group.
create table vehicle_latest (
  vehicle_id integer primary key references vehicle,
  -- device time of the oldest reading: no query of the vehicle needs earlier chunks; null for no bound
  earliest_time timestamptz,
  time timestamptz not null,
  -- newest device time before the last write: a reading newer than this is new and needs no merge
  time_before timestamptz,
  location jsonb,
  location_time timestamptz,
  status jsonb,
  status_time timestamptz,
  can jsonb,
  can_time timestamptz,
  electric jsonb,
  electric_time timestamptz,
  sensors jsonb,
  sensors_time timestamptz,
  fleet jsonb,
  fleet_time timestamptz,
  alarms jsonb,
  alarms_time timestamptz,
  -- where the ignition was switched off: moving 200 m away with the ignition off is a tow
  parked_location jsonb,
  parked_at timestamptz,
  received_at timestamptz not null
) with (fillfactor = 50);

-- Keys of the readings that one transaction stored, for readers of the change feed. Transactions become visible out of
-- order, so a reader takes only rows of transactions older than every one that is still running.
create table reading_change (
  application_id integer not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  stored_at timestamptz not null default now(),
  vehicle_ids integer[] not null,
  times timestamptz[] not null,
  primary key (application_id, transaction_id, id)
);
create index reading_change_age on reading_change (stored_at);

-- Uploads of which at least one part could not be stored, byte for byte. A repeated upload only counts up.
create table quarantine (
  id bigint generated always as identity primary key,
  device_id text not null,
  received_at timestamptz not null,
  -- of contracts/queues.ts
  format text not null default 'native',
  -- the only application that its readings may belong to, where a source of that application sent it; null: any
  application_id integer references application,
  -- encrypted, because it can contain private positions; the key is not in the database
  sealed_payload bytea not null,
  payload_bytes integer not null,
  -- keyed hash: identifies equal payloads without revealing them
  payload_fingerprint bytea not null,
  -- [{ "index", "reason", "field", "message" }]; index null for the whole upload
  faults jsonb not null,
  times_seen integer not null default 1,
  resolved_at timestamptz,
  -- why the operator gave it up
  dismissed_reason text,
  unique (device_id, payload_fingerprint)
);
create index quarantine_open on quarantine (id) where resolved_at is null;
create index quarantine_age on quarantine (received_at);

-- The next two run as the owner of the hypertable, on behalf of ingest (infra/database-roles.sql).
create function compress_reading_chunk(chunk regclass) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from show_chunks('reading') as own where own = chunk) then
    raise exception '% is no chunk of readings', chunk;
  end if;
  perform compress_chunk(chunk, if_not_compressed => true);
end $$;
revoke all on function compress_reading_chunk(regclass) from public;

-- Deletes the counts first: a reading stored in the meantime marks its hour again.
create function drop_readings_older_than(age interval) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from reading_count using timescaledb_information.chunks
    where hypertable_schema = 'public' and hypertable_name = 'reading' and range_end <= now() - age
      and hour >= range_start and hour < range_end;
  return (select count(*) from drop_chunks('reading', older_than => age));
end $$;
revoke all on function drop_readings_older_than(interval) from public;
