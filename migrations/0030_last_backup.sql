-- The last backup by `odograph backup`; null when there was none. A restored installation has none until the next one.
alter table installation
  add column last_backup_at timestamptz,
  add column last_backup_bytes bigint,
  -- the newest migration that the backup has
  add column last_backup_schema text;
