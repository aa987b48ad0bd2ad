-- The mileage log: what a trip was for. A later entry for the same trip replaces an earlier one, which stays.

create table mileage_entry (
  application_id integer not null references application,
  vehicle_id integer not null references vehicle,
  -- no foreign key: late data can replace the trip, and the entry stays
  trip_id uuid not null,
  version integer not null,
  -- the trip as it was at the time of the entry
  started_at timestamptz not null,
  ended_at timestamptz not null,
  distance_km double precision not null,
  -- null: the device does not report it
  start_odometer_km double precision,
  end_odometer_km double precision,
  class text not null check (class in ('business', 'private', 'commute')),
  purpose text,
  partner text,
  driver text,
  start_place text,
  end_place text,
  note text,
  entered_at timestamptz not null default clock_timestamp(),
  -- as in the audit
  entered_by text not null,
  primary key (vehicle_id, trip_id, version)
);
create index mileage_entry_time on mileage_entry (vehicle_id, started_at);
create trigger refuse_while_moving before insert or delete or update on mileage_entry for each row
  execute function refuse_while_moving('application_id');

create function keep_mileage_entry() returns trigger language plpgsql as $$
begin
  if current_setting('odograph.mileage_change', true) is distinct from 'erase' then
    raise exception 'an entry of the mileage log cannot be changed: add one that replaces it';
  end if;
  return new;
end $$;
create trigger keep_mileage_entry before update on mileage_entry for each row execute function keep_mileage_entry();

-- Replaces the ids of a person by a pseudonym. @returns the number of changed entries
create function erase_mileage_entries(of_application integer, ids text[], pseudonym text) returns bigint
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  actors text[] := array(select 'user:' || one from unnest(ids) as one);
  changed bigint;
begin
  perform set_config('odograph.mileage_change', 'erase', true);
  update mileage_entry set driver = case when driver = any (ids) then pseudonym else driver end,
      entered_by = case when entered_by = any (actors) then 'user:' || pseudonym else entered_by end, note = null
    where application_id = of_application and (driver = any (ids) or entered_by = any (actors));
  get diagnostics changed = row_count;
  perform set_config('odograph.mileage_change', '', true);
  return changed;
end $$;
revoke all on function erase_mileage_entries(integer, text[], text) from public;
