-- Serializes changes of links, privacy and vehicles with ingest.
--
-- Ingest caches what decides where a reading goes: links, privacy intervals, deleted vehicles. A statement that changes one
-- of them waits for running writers and increments the version; a writer compares the version with that of its cache.
-- Triggers do this for every statement, including those an operator types.
create sequence ingest_decision_version;
-- Alarm rules have a version of their own, so that a change of privacy does not empty their cache (0016_alarms.sql).
create sequence alarm_rule_version;
-- So have CAN databases (0018_can.sql).
create sequence can_database_version;
-- last_value is 1 before and after the first nextval of a new sequence, so the first change would not show.
select setval('ingest_decision_version', 1), setval('alarm_rule_version', 1), setval('can_database_version', 1);

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
