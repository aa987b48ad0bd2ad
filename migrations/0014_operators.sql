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
