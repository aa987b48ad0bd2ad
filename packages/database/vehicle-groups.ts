import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Builds SQL that selects groups and their descendants; malformed and unknown ids match nothing. */
export const groupsBelow = (ids: readonly string[]): RawBuilder<unknown> =>
  sql`(select groups_below(${ids.filter(isUuid)}::uuid[]))`;

/**
 * Builds SQL on the table `vehicle` that is true for vehicles in groups or their descendants. It does not check access:
 * combine it with accessibleTo or visibleTo. A group holds only vehicles of its own application, so another application's
 * group matches nothing, like a missing one.
 */
export const inGroups = (ids: readonly string[]): RawBuilder<boolean> =>
  sql<boolean>`vehicle.id in (select vehicle_id from vehicle_group_member where group_id in ${groupsBelow(ids)})`;

/**
 * Serializes changes of the groups of an application and of access (migrations/0013_groups.sql) until the transaction ends.
 * Triggers take this lock too, but after they have locked rows. Against deadlocks take it before a change of groups or
 * grants, and after the ingest barrier in a transaction that raises it.
 */
export async function lockGroups(db: Database, applicationId: number): Promise<void> {
  await sql`select lock_vehicle_access(${applicationId})`.execute(db);
}

/**
 * Finds the application of a group.
 * @param among the permitted applications; all by default
 * @throws Failure NOT_FOUND
 */
export async function findGroupOwner(db: Database, id: string, among?: readonly number[]): Promise<number> {
  const { rows } = await sql<{ owner: number }>`select application_id as owner from vehicle_group
    where id = any(${[id].filter(isUuid)}::uuid[])`.execute(db);
  const [row] = rows;
  if (!row || among?.includes(row.owner) === false) throw new Failure('NOT_FOUND', 'no group has this id');
  return row.owner;
}
