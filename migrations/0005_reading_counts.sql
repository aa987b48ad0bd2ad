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
