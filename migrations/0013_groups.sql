-- Vehicles in groups that form a tree, what groups are used for, and geofences along a line or with a time table.

create table vehicle_group (
  id uuid primary key default gen_random_uuid(),
  application_id integer not null references application,
  parent_id uuid,
  name text not null,
  created_at timestamptz not null default now(),
  constraint vehicle_group_application unique (application_id, id),
  constraint vehicle_group_parent foreign key (application_id, parent_id) references vehicle_group (application_id, id)
);
create index vehicle_group_children on vehicle_group (parent_id);

create table vehicle_group_member (
  group_id uuid not null references vehicle_group on delete cascade,
  vehicle_id integer not null references vehicle on delete cascade,
  primary key (group_id, vehicle_id)
);
create index vehicle_group_member_vehicle on vehicle_group_member (vehicle_id);

-- Groups and all groups below them. A cycle, which the routes refuse, would end the recursion.
create function groups_below(of_groups uuid[]) returns setof uuid language sql stable rows 20 as $$
  with recursive below (id) as (
    select unnest(of_groups)
    union select vehicle_group.id from vehicle_group join below on vehicle_group.parent_id = below.id)
  select id from below
$$;

-- A grant of the vehicles of a group and of those below it.
create table group_grant (
  user_id uuid not null references user_account on delete cascade,
  application_id integer not null,
  group_id uuid not null,
  role text not null default 'driver' check (role in ('viewer', 'driver', 'manager')),
  created_at timestamptz not null default now(),
  primary key (user_id, group_id),
  constraint group_grant_group foreign key (application_id, group_id) references vehicle_group (application_id, id)
    on delete cascade
);
create index group_grant_application on group_grant (application_id, group_id);

-- The access that follows from grants of vehicles and of groups, by the strongest role. The access rule
-- (packages/database/vehicle-access.ts) reads this table alone. The triggers below keep it.
create table vehicle_access (
  user_id uuid not null references user_account on delete cascade,
  vehicle_id integer not null references vehicle on delete cascade,
  role text not null check (role in ('viewer', 'driver', 'manager')),
  primary key (user_id, vehicle_id)
);
create index vehicle_access_vehicle on vehicle_access (vehicle_id);
insert into vehicle_access select user_id, vehicle_id, role from vehicle_grant;

-- Changes of one application wait for each other: a statement after the lock sees every earlier change, so the last one
-- leaves no access that an earlier one ended.
create function lock_vehicle_access(of_application integer) returns void language sql as $$
  select pg_advisory_xact_lock(73051149, of_application)
$$;

-- Brings the access of users to vehicles in line with the grants; without vehicles, their access to all.
create function refresh_vehicle_access(of_application integer, of_users uuid[], of_vehicles integer[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform lock_vehicle_access(of_application);
  with given as (
      select user_id, vehicle_id, role from vehicle_grant
        where user_id = any (of_users) and (of_vehicles is null or vehicle_id = any (of_vehicles))
      union all
      select user_id, vehicle_id, role from group_grant cross join groups_below(array[group_id]) as below (id)
        join vehicle_group_member on vehicle_group_member.group_id = below.id
        where user_id = any (of_users) and (of_vehicles is null or vehicle_id = any (of_vehicles))),
    strongest as (
      select user_id, vehicle_id, (array['viewer', 'driver', 'manager'])[
          max(array_position(array['viewer', 'driver', 'manager'], role))] as role
        from given group by user_id, vehicle_id),
    ended as (
      delete from vehicle_access as known
        where user_id = any (of_users) and (of_vehicles is null or vehicle_id = any (of_vehicles))
          and not exists (select from strongest
            where strongest.user_id = known.user_id and strongest.vehicle_id = known.vehicle_id))
  insert into vehicle_access (user_id, vehicle_id, role) select user_id, vehicle_id, role from strongest
    on conflict (user_id, vehicle_id) do update set role = excluded.role where vehicle_access.role <> excluded.role;
end $$;

create function refresh_after_vehicle_grant() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  changed vehicle_grant;
begin
  -- a change of keys, by hand, refreshes both
  foreach changed in array array[old, new] loop
    continue when changed.user_id is null;
    perform refresh_vehicle_access(application_id, array[id], array[changed.vehicle_id])
      from user_account where id = changed.user_id;
  end loop;
  return null;
end $$;
create trigger refresh_vehicle_access after insert or update or delete on vehicle_grant
  for each row execute function refresh_after_vehicle_grant();

create function refresh_after_group_grant() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  changed group_grant;
begin
  foreach changed in array array[old, new] loop
    continue when changed.user_id is null;
    perform refresh_vehicle_access(application_id, array[id], null) from user_account where id = changed.user_id;
  end loop;
  return null;
end $$;
create trigger refresh_vehicle_access after insert or update or delete on group_grant
  for each row execute function refresh_after_group_grant();

-- Refreshes the access of everyone in an application who has the grant of a group.
create function refresh_group_users(of_application integer, of_vehicles integer[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform lock_vehicle_access(of_application);
  perform refresh_vehicle_access(of_application, array(
    select distinct user_id from group_grant where application_id = of_application), of_vehicles);
end $$;

create function refresh_after_membership() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform refresh_group_users(application_id, array_agg(id))
    from vehicle where id in (select vehicle_id from changed) group by application_id;
  return null;
end $$;
create trigger refresh_vehicle_access after insert on vehicle_group_member referencing new table as changed
  for each statement execute function refresh_after_membership();
create trigger refresh_vehicle_access_after_delete after delete on vehicle_group_member referencing old table as changed
  for each statement execute function refresh_after_membership();

create function refresh_after_move() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform lock_vehicle_access(new.application_id);
  perform refresh_group_users(new.application_id, array(select distinct vehicle_id from vehicle_group_member
    where group_id in (select groups_below(array[new.id]))));
  return null;
end $$;
create trigger refresh_vehicle_access after update of parent_id on vehicle_group
  for each row when (old.parent_id is distinct from new.parent_id) execute function refresh_after_move();

revoke all on function refresh_vehicle_access(integer, uuid[], integer[]), refresh_group_users(integer, integer[]),
  refresh_after_vehicle_grant(), refresh_after_group_grant(), refresh_after_membership(), refresh_after_move() from public;

-- Bookings and authorizations end with the access, whichever grant it followed from.
drop trigger vehicle_grant_deleted on vehicle_grant;
drop trigger vehicle_grant_reduced on vehicle_grant;
create trigger vehicle_access_deleted after delete on vehicle_access
  for each row execute function end_access_with_grant();
create trigger vehicle_access_reduced after update on vehicle_access
  for each row when (new.role <> old.role and (new.role = 'viewer' or old.role = 'manager'))
  execute function end_access_with_grant();

-- Alarm rules for groups.

create table alarm_rule_group (
  rule_id uuid not null references alarm_rule,
  group_id uuid not null references vehicle_group,
  primary key (rule_id, group_id)
);
create index alarm_rule_group_group on alarm_rule_group (group_id);

create trigger alarm_rule_change before insert or update or delete or truncate on alarm_rule_group
  for each statement execute function before_ingest_decision('alarm_rule_version');
create trigger alarm_rule_change before insert or update or delete or truncate on vehicle_group_member
  for each statement execute function before_ingest_decision('alarm_rule_version');
create trigger alarm_rule_change before update of parent_id or delete or truncate on vehicle_group
  for each statement execute function before_ingest_decision('alarm_rule_version');

-- A corridor: a LineString with a width. When a geofence counts (packages/contracts/geofence-windows.ts); null: always.
alter table geofence add column width_metres double precision, add column windows jsonb,
  add constraint geofence_width check ((geometry ->> 'type' = 'LineString') = (width_metres is not null));

do $$
declare
  one text[];
begin
  foreach one slice 1 in array array[['vehicle_group', 'application_id'], ['group_grant', 'application_id'],
      ['vehicle_group_member', 'vehicle_id'], ['alarm_rule_group', 'rule_id']] loop
    execute format('create trigger refuse_while_moving before insert or delete or update on %I for each row
      execute function refuse_while_moving(%L)', one[1], one[2]);
  end loop;
end $$;
