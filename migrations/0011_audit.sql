-- The audit: append-only and hash-chained.

-- Each application has its own chain, the operator has chain 0. Every row includes the hash of the previous one.
create table audit_chain (
  chain integer primary key,
  length bigint not null default 0,
  head_sha256 bytea not null default '\x'
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
  sha256 bytea not null,
  primary key (chain, position)
);
-- The text that is hashed together with the previous row's hash; jsonb has one textual form for equal values.
create function audit_content(row_of audit) returns text language sql stable as $$
  select jsonb_build_array(row_of.chain, row_of.position, to_char(row_of.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
    row_of.actor, row_of.address, row_of.action, row_of.subject, row_of.details, row_of.outcome)::text
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
  added := (to_chain, last.length + 1, clock_timestamp(), actor, address, action, subject, details, outcome, '\x');
  added.sha256 := sha256(last.head_sha256 || convert_to(audit_content(added), 'UTF8'));
  insert into audit select added.*;
  update audit_chain set length = added.position, head_sha256 = added.sha256 where chain = to_chain;
end $$;
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are only ever added', tg_table_name;
end $$;
create trigger audit_append_only before update or delete on audit
  for each row execute function refuse_change();
create trigger audit_no_truncate before truncate on audit
  for each statement execute function refuse_change();
