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
