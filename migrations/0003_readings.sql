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

-- The next three run as the owner of the hypertable, on behalf of ingest (infra/database-roles.sql).
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

-- Only the owner of a table can analyze it before PostgreSQL 17, so ingest calls this function.
create function analyze_reading_chunk(chunk regclass) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if not exists (select from show_chunks('reading') as own where own = chunk) then
    raise exception '% is no chunk of readings', chunk;
  end if;
  execute format('analyze %s', chunk);
end $$;
revoke all on function analyze_reading_chunk(regclass) from public;

-- Serializes changes of links, privacy and vehicles with ingest.
--
-- Ingest caches what decides where a reading goes: links, privacy intervals, deleted vehicles. A statement that changes one
-- of them waits for running writers and increments the version; a writer compares the version with that of its cache.
-- Triggers do this for every statement, including those an operator types.
create sequence ingest_decision_version;
-- last_value is 1 before and after the first nextval of a new sequence, so the first change would not show.
select setval('ingest_decision_version', 1);

-- The versions of alarm rules and of CAN databases have sequences of their own, beside their tables: a change of privacy does
-- not empty those caches.
create function share_ingest_barrier(out decisions bigint, out alarm_rules bigint, out can_databases bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(7305114903);
  decisions := (select last_value from ingest_decision_version);
  alarm_rules := (select last_value from alarm_rule_version);
  can_databases := (select last_value from can_database_version);
end $$;

create function raise_ingest_barrier() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7305114903);
  perform nextval('ingest_decision_version');
end $$;

-- A trigger on what ingest caches; its argument is the sequence of that version.
create function before_ingest_decision() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7305114903);
  perform nextval(tg_argv[0]::regclass);
  return null;
end $$;

revoke all on function share_ingest_barrier(), raise_ingest_barrier(), before_ingest_decision() from public;

create trigger ingest_decision before insert or update or delete or truncate on device_link
  for each statement execute function before_ingest_decision('ingest_decision_version');
create trigger ingest_decision before insert or update or delete or truncate on privacy_period
  for each statement execute function before_ingest_decision('ingest_decision_version');
create trigger ingest_decision before update of deleted_at, application_id or delete or truncate on vehicle
  for each statement execute function before_ingest_decision('ingest_decision_version');

-- Readings per vehicle and hour, so that a large offset skips whole hours. The counts are exact: a late reading marks its
-- hour as uncounted in the same transaction, and maintenance counts it again.

create table reading_count (
  vehicle_id integer not null references vehicle on delete cascade,
  hour timestamptz not null,
  -- application of the readings, which may differ from the vehicle's
  application_id integer not null,
  -- null: to be counted
  count integer,
  primary key (vehicle_id, hour, application_id) include (count)
);
create index reading_count_unknown on reading_count (vehicle_id, hour, application_id) where count is null;

create table reading_settlement (
  only_row boolean primary key default true check (only_row),
  -- A transaction that stores an earlier reading marks its hour.
  settled_until timestamptz not null,
  -- Earlier hours without a row have no readings.
  counted_until timestamptz not null check (counted_until <= settled_until)
);

-- Moves the settlement forward. Raising the barrier waits for every transaction that still treats an hour as unsettled, and
-- gives later ones a new version.
create function settle_readings(lag interval) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  -- Waits for a running count before raising the barrier, so that ingest does not wait for that count.
  perform from reading_settlement for update;
  perform raise_ingest_barrier();
  insert into reading_settlement (settled_until, counted_until)
    select until, least(until, (select min(range_start) from timescaledb_information.chunks
      where hypertable_schema = 'public' and hypertable_name = 'reading'))
    from (select date_bin('1 hour', clock_timestamp() - lag, timestamptz 'epoch') as until) as settled
  on conflict (only_row) do update set settled_until = greatest(reading_settlement.settled_until, excluded.settled_until);
end $$;
revoke all on function settle_readings(interval) from public;

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
