-- Which database this is, and whether it is whole: a copy continues the change feed differently, and an incomplete one must
-- not be used.

create table installation (
  only_row boolean primary key default true check (only_row),
  -- another one in a restored dump, after a recovery to a point in time, and in a promoted standby
  identity text not null,
  -- part of every position in the change feed; positions of another epoch are refused
  feed_epoch bigint not null,
  -- null unless `odograph restore` is running or was interrupted
  restoring_since timestamptz,
  -- what the migrations made in the schema public
  schema_objects text[] not null
);

-- Server, database and timeline.
create function database_identity() returns text language sql volatile as $$
  select concat_ws('/', (pg_control_system()).system_identifier, oid, left(pg_walfile_name(pg_current_wal_lsn()), 8))
  from pg_database where datname = current_database()
$$;

create function list_schema_objects() returns text[] language sql stable as $$
  select array_agg(object order by object) from (
    select format('%s %s', case relkind when 'i' then 'index' else 'table' end, relname) as object
      from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')
    union all select format('constraint %s of %s', conname, relname)
      from pg_constraint join pg_class on pg_class.oid = conrelid where relnamespace = 'public'::regnamespace
    union all select format('trigger %s of %s', tgname, relname)
      from pg_trigger join pg_class on pg_class.oid = tgrelid
      where relnamespace = 'public'::regnamespace and not tgisinternal and tgname <> 'ts_insert_blocker'
    union all select format('function %s', proname)
      from pg_proc where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
  ) as own
$$;

-- Starts a new epoch of the change feed. Transaction numbers of another server mean nothing here, so all restored changes
-- become those of this transaction; without them a reader would wait for numbers that this server reaches in years.
create function restart_change_feed() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update reading_change set transaction_id = pg_current_xact_id();
  update event set transaction_id = pg_current_xact_id();
  update application set changes_forgotten_until = (pg_current_xact_id()::text::bigint - 1)::text::xid8,
    events_forgotten_until = (pg_current_xact_id()::text::bigint - 1)::text::xid8;
  update installation set identity = database_identity(),
    feed_epoch = greatest(feed_epoch + 1, (extract(epoch from clock_timestamp()) * 1000)::bigint);
end $$;
revoke all on function restart_change_feed() from public;

-- False in a copy until recognize_database.
create function is_known_database() returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  return pg_is_in_recovery() or exists (select from installation where identity = database_identity());
end $$;
revoke all on function is_known_database() from public;

-- Each start calls it. Returns whether this database is a copy that was not known yet.
create function recognize_database() returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if is_known_database() then return false; end if;
  perform from installation for update;
  -- another process was first
  if is_known_database() then return false; end if;
  perform restart_change_feed();
  return true;
end $$;
revoke all on function recognize_database() from public;

-- Each migration calls it.
create function record_schema_objects() returns void language sql as $$
  insert into installation (identity, feed_epoch, schema_objects)
    values (database_identity(), (extract(epoch from clock_timestamp()) * 1000)::bigint, list_schema_objects())
    on conflict (only_row) do update set schema_objects = excluded.schema_objects
$$;
revoke all on function record_schema_objects() from public;

-- Returns a sentence for each part that is missing. Reads readings last and only if their catalog is whole: with a broken one
-- a query can end the server.
create function find_database_faults() returns setof text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  missing text[];
  chunks integer;
begin
  if not exists (select from installation) then
    return next 'the table installation is empty';
    return;
  end if;
  if current_setting('timescaledb.restoring', true) = 'on' then
    return next 'it is in restoring mode; call timescaledb_post_restore()';
  end if;
  return query select format('the restore that began at %s did not finish', restoring_since) from installation
    where restoring_since is not null;
  select array_agg(object order by object) into missing from (
    select unnest(schema_objects) as object from installation except select unnest(list_schema_objects())) as lost;
  if missing is not null then
    return next format('%s of its tables, indexes and constraints are missing, such as %s', cardinality(missing), missing[1]);
  end if;
  if not exists (select from _timescaledb_catalog.hypertable where (schema_name, table_name) = ('public', 'reading')) then
    return next 'the table reading is no hypertable';
    return;
  end if;
  with own as (
    select chunk.id, chunk.compressed_chunk_id, to_regclass(format('%I.%I', chunk.schema_name, chunk.table_name)) as relation,
      coalesce((to_jsonb(chunk) ->> 'dropped')::boolean, false) as dropped
    from _timescaledb_catalog.chunk)
  select count(*) into chunks from _timescaledb_catalog.hypertable
    join _timescaledb_catalog.chunk on chunk.hypertable_id = hypertable.id
    join own on own.id = chunk.id
    left join own as compressed on compressed.id = own.compressed_chunk_id
    where (hypertable.schema_name, hypertable.table_name) = ('public', 'reading') and not own.dropped
      and (own.relation is null or not exists (select from pg_inherits where inhrelid = own.relation and inhparent = 'reading'::regclass)
        or own.compressed_chunk_id is not null and (compressed.relation is null or not exists (
          select from _timescaledb_catalog.compression_settings where relid in (own.relation, compressed.relation))));
  if chunks > 0 then
    return next format('%s chunks of readings are incomplete', chunks);
    return;
  end if;
  if is_known_database() then return; end if;
  -- In a copy, a day with counted readings, or with the latest one of a vehicle, is not empty. A latest reading that is older
  -- than the counts may have been removed by retention.
  return query with expected as (
      select date_trunc('day', hour, 'UTC') as day from reading_count
        where count > 0 and vehicle_id not in (select vehicle_id from vehicle_purge)
      union select date_trunc('day', time, 'UTC') from vehicle_latest
        where time >= coalesce((select counted_until from reading_settlement), '-infinity')
          and vehicle_id not in (select vehicle_id from vehicle_purge)),
    empty as (select day from expected
      where not exists (select from reading where time >= day and time < day + interval '1 day'))
    select format('the readings of %s days are missing, such as those of %s', count(*), min(day)::date) from empty
      having count(*) > 0;
end $$;
revoke all on function find_database_faults() from public;
