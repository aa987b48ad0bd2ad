import type { Viewer } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { parseVehicleId, visibleTo } from '@odograph/database/vehicle-access';
import { groupsBelow, lockGroups } from '@odograph/database/vehicle-groups';
import { type RawBuilder, sql } from 'kysely';
import { endAlarms, firstRow, isUncovered, ofApplications } from '../alarms/geofences.ts';
import type { Group, GroupChange, GroupWithVehicles, NewGroup } from './schemas.ts';

/** Maximum groups of an application; lists are not paged. */
const maxGroups = 1000;

/**
 * Lists groups in tree order, with counts of visible vehicles. Users see only groups that have a visible vehicle themselves
 * or in a descendant.
 */
export async function listGroups(db: Database, viewer: Viewer): Promise<Group[]> {
  const { rows } = await sql<{ one: Group }>`
    with recursive tree as (
      select vehicle_group.*, array[id] as lineage, array[lower(name), id::text] as place from vehicle_group
        where parent_id is null and ${ofApplications('vehicle_group.application_id', viewer)}
      union all select below.*, lineage || below.id, place || array[lower(below.name), below.id::text]
        from vehicle_group as below join tree on below.parent_id = tree.id),
    counted as (
      select above.id, count(distinct vehicle.id) as total, count(distinct vehicle.id) filter (where above.id = tree.id) as own
        from tree join vehicle_group_member as member on member.group_id = tree.id
        join vehicle on vehicle.id = member.vehicle_id and ${visibleTo(viewer)}
        cross join unnest(lineage) as above (id) group by above.id)
    select jsonb_strip_nulls(jsonb_build_object('id', tree.id, 'appId', application.app_id, 'name', tree.name,
      'parentId', tree.parent_id, 'depth', cardinality(lineage) - 1, 'vehicleCount', coalesce(own, 0),
      'totalVehicleCount', coalesce(total, 0))) as one
    from tree join application on application.id = tree.application_id and application.deleted_at is null
    left join counted on counted.id = tree.id
    where ${viewer.userId === undefined} or total > 0 order by application.id, place`.execute(db);
  return rows.map(({ one }) => one);
}

/** Finds a group and its visible vehicles. @throws Failure NOT_FOUND */
export async function findGroup(db: Database, viewer: Viewer, id: string): Promise<GroupWithVehicles> {
  const group = (await listGroups(db, viewer)).find((one) => one.id === id.toLowerCase());
  if (!group) throw new Failure('NOT_FOUND', 'no group has this id');
  const { rows } = await sql<{ id: string }>`select vehicle.id::text from vehicle
    where id in (select vehicle_id from vehicle_group_member where group_id = ${id}) and ${visibleTo(viewer)}
    order by vehicle.id`.execute(db);
  return { ...group, vehicleIds: rows.map((vehicle) => vehicle.id) };
}

async function requireParent(db: Database, applicationId: number, parentId: string): Promise<void> {
  const found = isUuid(parentId)
    ? await firstRow(db, sql`select from vehicle_group where id = ${parentId} and application_id = ${applicationId}`)
    : undefined;
  if (!found) throw invalidParameter('parentId', 'must be a group of the application');
}

/** Creates a group. @returns its id @throws Failure TOO_MANY; INVALID_PARAMETER for an unknown parent */
export async function createGroup(db: Database, applicationId: number, { name, parentId }: NewGroup): Promise<string> {
  await lockGroups(db, applicationId);
  if (parentId !== undefined) await requireParent(db, applicationId, parentId);
  const row = await firstRow(
    db,
    sql<{ id: string }>`insert into vehicle_group (application_id, name, parent_id)
      select ${applicationId}, ${name}, ${parentId ?? null}::uuid
      where (select count(*) from vehicle_group where application_id = ${applicationId}) < ${maxGroups} returning id`,
  );
  if (!row) throw new Failure('TOO_MANY', `an application has at most ${maxGroups} groups`);
  return row.id;
}

/** Locks the groups of an application and finds one of them. @throws Failure NOT_FOUND */
async function lockGroup(db: Database, applicationId: number, id: string): Promise<void> {
  // Ingest caches the vehicles that alarm rules of groups apply to.
  await raiseIngestBarrier(db);
  await lockGroups(db, applicationId);
  const found = isUuid(id)
    ? await firstRow(db, sql`select from vehicle_group where id = ${id} and application_id = ${applicationId}`)
    : undefined;
  if (!found) throw new Failure('NOT_FOUND', 'no group has this id');
}

/** Ends open alarms of group rules that no longer apply to the vehicle. @returns the ids of the alarms */
const endUncovered = (db: Database, applicationId: number): Promise<string[]> =>
  endAlarms(
    db,
    sql<boolean>`alarm.application_id = ${applicationId}
      and exists (select from alarm_rule_group where rule_id = alarm.rule_id) and ${isUncovered}`,
  );

/**
 * Renames a group, or moves it with its descendants.
 * @returns the ids of the alarms that ended
 * @throws Failure NOT_FOUND; INVALID_PARAMETER for a parent that is unknown or a descendant of the group
 */
export async function updateGroup(
  db: Database,
  applicationId: number,
  id: string,
  { name, parentId }: GroupChange,
): Promise<string[]> {
  await lockGroup(db, applicationId, id);
  if (name !== undefined) await sql`update vehicle_group set name = ${name} where id = ${id}`.execute(db);
  if (parentId === undefined) return [];
  if (parentId !== '') {
    await requireParent(db, applicationId, parentId);
    const below = await firstRow(db, sql`select where ${parentId}::uuid in ${groupsBelow([id])}`);
    if (below) throw invalidParameter('parentId', 'must not be the group itself or one below it');
  }
  await sql`update vehicle_group set parent_id = nullif(${parentId}, '')::uuid where id = ${id}`.execute(db);
  return endUncovered(db, applicationId);
}

/**
 * Replaces the vehicles of a group.
 * @returns the ids of the added and removed vehicles, and of the alarms that ended
 * @throws Failure NOT_FOUND; UNKNOWN_VEHICLE for one that is missing, deleted or of another application
 */
export async function setVehicles(
  db: Database,
  applicationId: number,
  id: string,
  vehicleIds: readonly string[],
): Promise<{ added: string[]; removed: string[]; alarmIds: string[] }> {
  await lockGroup(db, applicationId, id);
  const ids = [...new Set(vehicleIds.map((one) => parseVehicleId(one) ?? 0))];
  const found = await firstRow(
    db,
    sql<{ count: number }>`select count(*)::integer as count from vehicle
      where id = any(${ids}::integer[]) and ${visibleTo({ applicationIds: [applicationId] })}`,
  );
  if (found?.count !== ids.length) throw new Failure('UNKNOWN_VEHICLE');
  const removed = await sql<{ id: string }>`delete from vehicle_group_member
    where group_id = ${id} and vehicle_id <> all(${ids}::integer[]) returning vehicle_id::text as id`.execute(db);
  const added = await sql<{ id: string }>`insert into vehicle_group_member (group_id, vehicle_id)
    select ${id}::uuid, one from unnest(${ids}::integer[]) as one
    on conflict do nothing returning vehicle_id::text as id`.execute(db);
  return {
    added: added.rows.map((vehicle) => vehicle.id),
    removed: removed.rows.map((vehicle) => vehicle.id),
    alarmIds: await endUncovered(db, applicationId),
  };
}

/** Builds SQL that describes one thing that prevents the deletion of a group. */
const uses = (id: string): RawBuilder<{ use: string }> => sql<{ use: string }>`
  select 'the group "' || name || '" is below it' as use from vehicle_group where parent_id = ${id}
  union all select 'the alarm rule "' || name || '" applies to it' from alarm_rule_group
    join alarm_rule on alarm_rule.id = rule_id where group_id = ${id} limit 1`;

/**
 * Deletes a group and its grants.
 * @throws Failure NOT_FOUND; IN_USE if it has subgroups, alarm rules, report schedules or webhooks
 */
export async function deleteGroup(db: Database, applicationId: number, id: string): Promise<void> {
  await lockGroup(db, applicationId, id);
  const use = await firstRow(db, uses(id));
  if (use) throw new Failure('IN_USE', use.use);
  const used = {
    report_schedule_group: ['IN_USE', 'a report schedule applies to it'],
    webhook_group: ['IN_USE', 'a webhook is limited to it'],
  } as const;
  await failOnConstraint(used, () => sql`delete from vehicle_group where id = ${id}`.execute(db));
}
