-- What applications publish to everyone as GBFS feeds.

create table gbfs_system (
  application_id integer primary key references application,
  -- public, part of the paths of the feeds
  system_id text not null,
  -- contracts/gbfs.ts
  settings jsonb not null,
  -- Key of the vehicle ids in the feeds, which change after each rental. With it, the ids of one vehicle can be told.
  id_key bytea not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint gbfs_system_id unique (system_id)
);
