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
