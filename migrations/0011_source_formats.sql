-- The routes accept the formats that packages/contracts/sources.ts lists; a new one needs no migration.

alter table source drop constraint source_format_check,
  add constraint source_format_check check (format ~ '^[a-z0-9]{1,32}$');
