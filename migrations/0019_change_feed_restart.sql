-- A restart of the change feed, such as after a fail-over, loses nothing that is stored at the same moment.

-- Starts a new epoch of the change feed. Transaction numbers of another server mean nothing here, so all restored changes
-- become those of the last transaction before the horizon: it has ended, and every transaction in flight has a higher number.
create or replace function restart_change_feed() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  horizon bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
  ended xid8 := (horizon - 1)::text::xid8;
  forgotten xid8 := (horizon - 2)::text::xid8;
begin
  update reading_change set transaction_id = ended;
  update event set transaction_id = ended;
  update application set changes_forgotten_until = forgotten, events_forgotten_until = forgotten;
  update installation set identity = database_identity(),
    feed_epoch = greatest(feed_epoch + 1, (extract(epoch from clock_timestamp()) * 1000)::bigint);
end $$;
