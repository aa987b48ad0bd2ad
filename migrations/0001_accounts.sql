-- Applications, their user accounts, and the sessions and tokens they sign in with.
create extension if not exists timescaledb;
create extension if not exists btree_gist;

create table application (
  id integer generated always as identity primary key,
  app_id text not null unique,
  app_key_sha256 bytea not null,
  -- the appKey being rotated out
  previous_app_key_sha256 bytea,
  previous_app_key_until timestamptz,
  name text not null,
  -- shape of GET /v1/vehicles and GET /v1/vehicle/{id}/status; null: both shapes in one object
  view text check (view in ('dynamic', 'fleet')),
  time_zone text not null default 'UTC' check (now() at time zone time_zone is not null),
  tariff_per_km double precision not null default 0 check (tariff_per_km >= 0 and tariff_per_km <= 1e9),
  tariff_per_minute double precision not null default 0
    check (tariff_per_minute >= 0 and tariff_per_minute <= 1e9),
  -- rates of each device of the application; null: the settings of the platform
  device_uploads_per_second integer check (device_uploads_per_second between 1 and 1000000),
  device_bytes_per_second integer check (device_bytes_per_second between 1 and 1000000000),
  -- Changes of this transaction and of earlier ones may have been deleted; a reader that is further behind missed some.
  changes_forgotten_until xid8 not null default '0',
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- as changes_forgotten_until, of events
  events_forgotten_until xid8 not null default '0'
);

create table user_account (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  username text not null,
  password_hash text not null,
  must_change_password boolean not null default false,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index user_account_username on user_account (application_id, lower(username)) where deleted_at is null;

-- A login and every token refreshed from it; revoked together.
create table session (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  user_id uuid references user_account,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);

create table access_token (
  token_sha256 bytea primary key,
  session_id uuid not null references session on delete cascade,
  expires_at timestamptz not null
);
create index access_token_session on access_token (session_id);
create index access_token_expiry on access_token (expires_at);

create table refresh_token (
  token_sha256 bytea primary key,
  session_id uuid not null references session on delete cascade,
  expires_at timestamptz not null,
  spent_at timestamptz,
  -- the refresh token issued for it, while it may be presented once more because the answer was lost
  successor_sha256 bytea
);
create index refresh_token_session on refresh_token (session_id);
create index refresh_token_expiry on refresh_token (expires_at);

-- The people who run the platform, and the signed-in browsers of operators and of users of an application.

create table operator (
  id uuid primary key default gen_random_uuid(),
  name text not null,
  password_hash text not null,
  role text not null check (role in ('viewer', 'operator', 'administrator')),
  must_change_password boolean not null default false,
  created_at timestamptz not null default now(),
  deleted_at timestamptz
);
create unique index operator_name on operator (lower(name)) where deleted_at is null;

-- The applications that an operator is limited to; without a row, all of them. Applications are never removed from their
-- table, so the deletion of one does not lift the limit.
create table operator_application (
  operator_id uuid not null references operator,
  application_id integer not null references application,
  primary key (operator_id, application_id)
);

-- A signed-in browser, of an operator or with a session of a user; deleted to end it.
create table sign_in (
  token_sha256 bytea primary key,
  operator_id uuid references operator,
  session_id uuid references session on delete cascade,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now(),
  expires_at timestamptz not null,
  check (num_nonnulls(operator_id, session_id) = 1)
);
create index sign_in_operator on sign_in (operator_id);
create index sign_in_session on sign_in (session_id);
