-- Other systems that forward what their devices said, and which devices they speak for.

create table source (
  id uuid primary key default gen_random_uuid(),
  -- it writes for devices of this application only
  application_id integer not null references application,
  format text not null check (format in ('traccar', 'flespi', 'tesla', 'owntracks', 'osmand')),
  secret_sha256 bytea not null unique,
  -- the secret being rotated out: valid until the new one is first used, and no longer than previous_secret_until
  previous_secret_sha256 bytea unique,
  previous_secret_until timestamptz,
  -- devices that it names and that do not exist are created in stock of the application
  create_devices boolean not null default false,
  created_at timestamptz not null default now(),
  -- when it was last authenticated, to a few seconds
  last_seen_at timestamptz,
  messages bigint not null default 0,
  -- messages of devices that were no devices of the application
  unknown_messages bigint not null default 0,
  -- requests that it has to send again, or that cannot be understood
  refused_requests bigint not null default 0,
  -- the token by which the gateway sends commands to the other system, sealed; null: it takes none
  sealed_command_token bytea,
  takes_commands boolean not null default false,
  -- its secrets are no longer valid
  deleted_at timestamptz,
  constraint source_command_token check (takes_commands = (sealed_command_token is not null) and (format = 'flespi' or not takes_commands)),
  constraint source_previous_secret check ((previous_secret_sha256 is null) = (previous_secret_until is null))
);
create index source_application on source (application_id) where deleted_at is null;

-- The devices of the application that a source has sent messages of.
create table source_device (
  source_id uuid not null references source,
  device_id text not null references device,
  primary key (source_id, device_id)
);
