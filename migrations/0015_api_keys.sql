-- API keys of applications.
create table api_key (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  name text not null,
  key_sha256 bytea not null unique,
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['read', 'write', 'commands', 'admin']),
  -- from which it may be used, in CIDR notation; empty: from all
  networks text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz
);
create unique index api_key_name on api_key (application_id, lower(name));
create trigger refuse_while_moving before insert or delete or update on api_key for each row
  execute function refuse_while_moving('application_id');
