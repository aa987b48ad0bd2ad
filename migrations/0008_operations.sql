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
  -- Values dropped from readings that are stored: lists show them, counts and events leave them out.
  is_partial boolean not null default false,
  unique (device_id, payload_fingerprint)
);
create index quarantine_open on quarantine (id) where resolved_at is null;
create index quarantine_age on quarantine (received_at);

-- The append-only, hash-chained audit, one chain for each application and chain 0 for the operator.
-- Personal values (actor, address, subject, details) are not hashed themselves: the chain covers a salted hash of them, so
-- a person can be erased and the chain still verifies. The salt keeps anyone from guessing the values back from the hash.

create table audit_chain (
  chain integer primary key,
  length bigint not null default 0,
  head_sha256 bytea not null default '\x',
  -- newest row that retention removed, where verification starts
  pruned_through bigint not null default 0,
  pruned_sha256 bytea not null default '\x'
);

create table audit (
  chain integer not null,
  position bigint not null,
  at timestamptz not null,
  actor text not null,
  address text not null,
  action text not null,
  subject text not null,
  details jsonb not null,
  outcome text not null,
  -- null once the personal values were erased
  salt bytea,
  personal_sha256 bytea not null,
  sha256 bytea not null,
  primary key (chain, position)
);
create index audit_time on audit (at);

-- The personal values as text; jsonb has one textual form for equal values.
create function audit_personal(row_of audit) returns text language sql stable as $$
  select jsonb_build_array(row_of.actor, row_of.address, row_of.subject, row_of.details)::text
$$;

-- The text that is hashed together with the previous row's hash.
create function audit_content(row_of audit) returns text language sql stable as $$
  select jsonb_build_array(row_of.chain, row_of.position, to_char(row_of.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
    row_of.action, row_of.outcome, encode(row_of.personal_sha256, 'hex'))::text
$$;

-- Appends a row to its chain; locks the chain until the end of the transaction.
create function append_audit(
  to_chain integer, actor text, address text, action text, subject text, details jsonb, outcome text
) returns void language plpgsql as $$
declare
  last audit_chain;
  added audit;
begin
  insert into audit_chain (chain) values (to_chain) on conflict do nothing;
  select * into last from audit_chain where chain = to_chain for update;
  added := (to_chain, last.length + 1, clock_timestamp(), actor, address, action, subject, details, outcome,
    uuid_send(gen_random_uuid()), '\x', '\x');
  added.personal_sha256 := sha256(added.salt || convert_to(audit_personal(added), 'UTF8'));
  added.sha256 := sha256(last.head_sha256 || convert_to(audit_content(added), 'UTF8'));
  insert into audit select added.*;
  update audit_chain set length = added.position, head_sha256 = added.sha256 where chain = to_chain;
end $$;

-- Refuses every change but two: erasing personal values and removing the oldest rows, each by the function made for it.
create function protect_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('odograph.audit_change', true) = 'erase' and new.salt is null
    and (new.chain, new.position, new.at, new.action, new.outcome, new.personal_sha256, new.sha256)
      = (old.chain, old.position, old.at, old.action, old.outcome, old.personal_sha256, old.sha256) then
    return new;
  end if;
  if tg_op = 'DELETE' and current_setting('odograph.audit_change', true) = 'prune' then
    return old;
  end if;
  raise exception 'rows of % are only ever added', tg_table_name;
end $$;
create trigger audit_append_only before update or delete on audit
  for each row execute function protect_audit();
create trigger audit_no_truncate before truncate on audit
  for each statement execute function protect_audit();

-- Removes the rows of every chain that are older than an interval, up to the first younger one. Returns how many.
create function prune_audit(older_than interval) returns bigint language plpgsql as $$
declare
  link audit_chain;
  newest audit;
  removed bigint := 0;
  count_of_chain bigint;
begin
  perform set_config('odograph.audit_change', 'prune', true);
  for link in select * from audit_chain order by chain for update loop
    select * into newest from audit where chain = link.chain and position < coalesce(
        (select min(position) from audit where chain = link.chain and at >= now() - older_than), link.length + 1)
      order by position desc limit 1;
    continue when not found;
    delete from audit where chain = link.chain and position <= newest.position;
    get diagnostics count_of_chain = row_count;
    removed := removed + count_of_chain;
    update audit_chain set pruned_through = newest.position, pruned_sha256 = newest.sha256 where chain = link.chain;
  end loop;
  perform set_config('odograph.audit_change', '', true);
  return removed;
end $$;

-- Erasing a person.

-- Replaces the ids of a person by a pseudonym in one application: bookings, authorizations, commands, requests and the
-- audit. An account is replaced by one without name, password, grants or sessions.
-- ids: the driver id, or the account id and the user name. Returns how many rows of each table changed.
create function erase_person(of_application integer, ids text[], account uuid, pseudonym uuid) returns jsonb
language plpgsql as $$
declare
  name text := 'erased-' || pseudonym;
  actors text[] := array(select 'user:' || one from unnest(ids) as one);
  subjects text[] := actors || array(select 'driver:' || one from unnest(ids) as one);
  counts jsonb := '{}';
  changed bigint;
begin
  if account is not null then
    insert into user_account (id, application_id, username, password_hash, created_at, deleted_at)
      select pseudonym, application_id, name, '', created_at, now() from user_account where id = account;
    update command set user_id = pseudonym where user_id = account;
    get diagnostics changed = row_count;
    counts := counts || jsonb_build_object('commands', changed);
    update vehicle_request set user_id = pseudonym where user_id = account;
    update booking set account_id = pseudonym where account_id = account;
    delete from vehicle_grant where user_id = account;
    delete from session where user_id = account;
    delete from user_account where id = account;
  end if;
  update booking set user_id = name where application_id = of_application and user_id = any (ids);
  get diagnostics changed = row_count;
  counts := counts || jsonb_build_object('bookings', changed);
  update bluetooth_authorization set driver_id = name where driver_id = any (ids)
    and vehicle_id in (select id from vehicle where application_id = of_application);
  get diagnostics changed = row_count;
  counts := counts || jsonb_build_object('authorizations', changed);
  update alarm set acknowledged_by = 'user:' || name
    where application_id = of_application and acknowledged_by = any (actors);
  perform set_config('odograph.audit_change', 'erase', true);
  update audit set
      actor = case when actor = any (actors) then 'user:' || name else actor end,
      address = case when actor = any (actors) then '' else address end,
      subject = case when subject = any (subjects) then split_part(subject, ':', 1) || ':' || name else subject end,
      details = (select coalesce(jsonb_object_agg(key, case
          when key in ('driver', 'driverId', 'userId') and value #>> '{}' = any (ids) then to_jsonb(name) else value end), '{}')
        from jsonb_each(details)),
      salt = null
    where chain = of_application and (actor = any (actors) or subject = any (subjects)
      or details ->> 'driver' = any (ids) or details ->> 'driverId' = any (ids) or details ->> 'userId' = any (ids));
  get diagnostics changed = row_count;
  perform set_config('odograph.audit_change', '', true);
  return counts || jsonb_build_object('auditRows', changed);
end $$;

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
  schema_objects text[] not null,
  -- The last backup by `odograph backup`, with its newest migration; null when there was none. A restored installation has
  -- none until the next one.
  last_backup_at timestamptz,
  last_backup_bytes bigint,
  last_backup_schema text,
  -- The rights of the services as infra/database-roles.sql granted them, and the number of migrations at that time. Doctor
  -- compares them with those that the roles have; null where the services have no roles.
  granted_rights text[],
  granted_migrations integer
);

-- Server, database and timeline.
create function database_identity() returns text language sql volatile as $$
  select concat_ws('/', (pg_control_system()).system_identifier, oid, left(pg_walfile_name(pg_current_wal_lsn()), 8))
  from pg_database where datname = current_database()
$$;

-- An extension can have an operator with the number of an own function: the catalog is compared too.
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
        and not exists (select from pg_depend
          where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
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

create function list_granted_rights() returns text[] language sql stable as $$
  select array_agg(granted order by granted) from (
    select format('%s %s on %s', grantee::regrole, lower(privilege_type), relname) as granted
      from pg_class, aclexplode(relacl) where relnamespace = 'public'::regnamespace and grantee <> 0
    union all select format('%s %s (%s) on %s', grantee::regrole, lower(privilege_type), attname, relname)
      from pg_attribute join pg_class on pg_class.oid = attrelid, aclexplode(attacl)
      where relnamespace = 'public'::regnamespace and grantee <> 0 and not attisdropped
    union all select format('%s %s on %s', grantee::regrole, lower(privilege_type), proname)
      from pg_proc, aclexplode(proacl) where pronamespace = 'public'::regnamespace and grantee <> 0
    union all select format('%s %s on schema public', grantee::regrole, lower(privilege_type))
      from pg_namespace, aclexplode(nspacl) where nspname = 'public' and grantee <> 0
  ) as rights where granted like 'odograph\_%'
$$;

-- How the pipeline ran: what each process measured every ten seconds, for the console. Kept for 30 days.
create table pipeline_sample (
  at timestamptz not null,
  -- the service and the process that measured
  source text not null,
  -- length of the interval that the counts and percentiles cover; the other columns are values at its end
  seconds real not null check (seconds > 0),
  accepted_uploads integer,
  refused_packets integer,
  puback_p50_ms real,
  puback_p99_ms real,
  connected_devices integer,
  held_bytes bigint,
  stored_readings integer,
  quarantined_uploads integer,
  lag_p50_ms real,
  lag_p99_ms real,
  waiting_jobs integer,
  oldest_job_seconds real,
  database_bytes bigint,
  redis_bytes bigint,
  primary key (at, source)
);
