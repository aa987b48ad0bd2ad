-- How many readings a vehicle has in each hour, so that an offset passes over whole hours. The counts are exact: an hour in
-- which a late reading is stored is marked in the same transaction, and counted anew later.

create table reading_count (
  vehicle_id integer not null references vehicle on delete cascade,
  hour timestamptz not null,
  -- as the readings say
  application_id integer not null,
  -- null where it has to be counted
  count integer,
  primary key (vehicle_id, hour, application_id) include (count)
);
create index reading_count_unknown on reading_count (vehicle_id, hour, application_id) where count is null;

create table reading_settlement (
  only_row boolean primary key default true check (only_row),
  -- Whoever stores a reading of before marks its hour.
  settled_until timestamptz not null,
  -- Of the hours before, those without a row have no readings.
  counted_until timestamptz not null check (counted_until <= settled_until)
);

-- Moves the settlement forward. Who stores readings shares the barrier until they are to be seen: when it is raised, nobody
-- is under way who takes an hour for unsettled, and who comes then finds a new version.
create function settle_readings(lag interval) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  -- Who counts holds the row: waits for that without keeping anybody from storing.
  perform from reading_settlement for update;
  perform raise_ingest_barrier();
  insert into reading_settlement (settled_until, counted_until)
    select until, least(until, (select min(range_start) from timescaledb_information.chunks
      where hypertable_schema = 'public' and hypertable_name = 'reading'))
    from (select date_bin('1 hour', clock_timestamp() - lag, timestamptz 'epoch') as until) as settled
  on conflict (only_row) do update set settled_until = greatest(reading_settlement.settled_until, excluded.settled_until);
end $$;
revoke all on function settle_readings(interval) from public;

-- Counts first: who stores something there in the meantime marks its hour.
create or replace function drop_readings_older_than(age interval) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from reading_count using timescaledb_information.chunks
    where hypertable_schema = 'public' and hypertable_name = 'reading' and range_end <= now() - age
      and hour >= range_start and hour < range_end;
  return (select count(*) from drop_chunks('reading', older_than => age));
end $$;
