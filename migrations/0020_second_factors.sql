-- Second factors of sign-ins with a password: one-time codes (RFC 6238), and recovery codes.
create table second_factor (
  id uuid primary key default gen_random_uuid(),
  operator_id uuid unique references operator,
  user_id uuid unique references user_account on delete cascade,
  sealed_secret bytea not null,
  -- null until the first code confirms that the app has the secret
  confirmed_at timestamptz,
  -- the time step of the last accepted code: codes of it and of earlier steps are refused
  last_step bigint not null default 0,
  check (num_nonnulls(operator_id, user_id) = 1)
);

-- Deleted when used.
create table recovery_code (
  factor_id uuid not null references second_factor on delete cascade,
  code_sha256 bytea not null,
  primary key (factor_id, code_sha256)
);

-- How, from where and with which browser a person signed in.
alter table sign_in
  add column id uuid not null unique default gen_random_uuid(),
  add column method text not null default 'password',
  add column address text not null default '',
  add column browser text not null default '';
