-- Ingest keeps in memory what decides where readings go: links, private periods, deleted vehicles. Whoever changes one of
-- them waits for the writers that are under way and gives the decisions a new version; a writer compares it with the one
-- its memory is of. Statements of every kind pass through the triggers, also those of an operator.
create sequence ingest_decision_version;

create function share_ingest_barrier() returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(7305114903);
  return (select last_value from ingest_decision_version);
end $$;

create function raise_ingest_barrier() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7305114903);
  perform nextval('ingest_decision_version');
end $$;

create function before_ingest_decision() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform raise_ingest_barrier();
  return null;
end $$;

revoke all on function share_ingest_barrier(), raise_ingest_barrier(), before_ingest_decision() from public;

create trigger ingest_decision before insert or update or delete or truncate on device_link
  for each statement execute function before_ingest_decision();
create trigger ingest_decision before insert or update or delete or truncate on privacy_period
  for each statement execute function before_ingest_decision();
create trigger ingest_decision before update of deleted_at, application_id or delete or truncate on vehicle
  for each statement execute function before_ingest_decision();

-- The newest device time of the vehicle before the last change: what is newer than it is new, and needs no merging.
alter table vehicle_latest add column time_before timestamptz;
