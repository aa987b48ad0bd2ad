-- Rows of quarantine for values that were dropped from readings which are stored. They are no uploads that wait to be stored: lists
-- show them, counts and events leave them out.
alter table quarantine add column is_partial boolean not null default false;

drop trigger event_on_insert on quarantine;
create trigger event_on_insert after insert on quarantine for each row when (not new.is_partial)
  execute function record_quarantine();
