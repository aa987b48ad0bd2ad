-- Privacy, who changed what, requests for vehicles, the purge of deleted ones, and the feed of stored readings.

-- A vehicle's positions are private in these periods, by the readings' own time; an open period is privacy that is on.
create table privacy_period (
  vehicle_id integer not null references vehicle on delete cascade,
  period tstzrange not null check (not isempty(period)),
  exclude using gist (vehicle_id with =, period with &&)
);

-- The vehicles that an application asked for.
create table vehicle_request (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  user_id uuid references user_account,
  plate text not null,
  request text not null,
  state text not null default 'pending' check (state in ('pending', 'approved', 'declined')),
  vehicle_id integer,
  reason text,
  created_at timestamptz not null default now(),
  decided_at timestamptz
);
create index vehicle_request_pending on vehicle_request (created_at) where state = 'pending';

-- Deleted vehicles whose data is being removed; a row stays as the proof that nothing was left.
create table vehicle_purge (
  vehicle_id integer primary key,
  application_id integer not null,
  requested_at timestamptz not null default now(),
  verified_at timestamptz
);

-- Each application has a chain of its own, and the operator has chain 0: every row carries the hash of the row before.
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
-- What the hash of a row is over, beside the hash of the row before; jsonb writes equal values in one way.
create function audit_content(row_of audit) returns text language sql stable as $$
  select jsonb_build_array(row_of.chain, row_of.position, to_char(row_of.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
    row_of.actor, row_of.address, row_of.action, row_of.subject, row_of.details, row_of.outcome)::text
$$;
-- Adds a row to its chain; until the end of the transaction others wait who add to the same chain.
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

-- Which scenarii of the fleet vehicle status record a device model watches, with what it does by itself.
alter table device_model add column scenarii jsonb not null default '{}';
update device_model set scenarii = '{"gps_jamming": "", "gnss_jamming": "", "towing_detection": "", "crash_detection": ""}'
  where id in ('generic', 'tracker');

-- When a person lowered a flag: what a device reports of before does not raise it again.
alter table vehicle add column states_lowered jsonb not null default '{}';

-- Where a vehicle stood when its ignition went off: 200 m from there with the ignition off is a tow.
alter table vehicle_latest add column parked_location jsonb, add column parked_at timestamptz;

-- The keys of the readings that one transaction stored, for those who follow changes. Transactions become visible out of
-- order; a reader takes only batches of transactions older than every one that still runs.
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
