-- Requests with an idempotency key, for 24 hours. Requests of remote actions are rows of `command`.
create table idempotent_request (
  -- the application, its user or the operator that made it
  principal text not null,
  key_sha256 bytea not null,
  -- HMAC of the path and the parameters
  fingerprint bytea not null,
  -- the status and the body of the answer, encrypted under ENCRYPTION_KEYS and the key of the request; null until it is answered
  sealed_answer bytea,
  created_at timestamptz not null default now(),
  primary key (principal, key_sha256)
);
create index idempotent_request_created_at on idempotent_request (created_at);
