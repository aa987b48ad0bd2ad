-- Passkeys of operators (WebAuthn).
create table passkey (
  id uuid primary key default gen_random_uuid(),
  operator_id uuid not null references operator,
  name text not null,
  -- base64url
  credential_id text not null unique,
  -- COSE
  public_key bytea not null,
  -- 0 for authenticators that do not count
  sign_count bigint not null,
  created_at timestamptz not null default now(),
  used_at timestamptz
);
create index passkey_operator on passkey (operator_id);
