import type { Viewer } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { GeofenceShape } from '@odograph/contracts/geofences';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { visibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';

const mostGeofences = 1000;

/** SQL that is true for a row of an application that the person sees. */
export const ofApplications = (column: string, { applicationIds }: Viewer): RawBuilder<boolean> =>
  applicationIds === undefined
    ? sql<boolean>`true`
    : sql<boolean>`${sql.ref(column)} = any(${[...applicationIds]}::integer[])`;

/** SQL that is true unless the person is a user who sees no vehicle. */
export const seesVehicles = (viewer: Viewer): RawBuilder<boolean> =>
  viewer.userId === undefined
    ? sql<boolean>`true`
    : sql<boolean>`exists (select from vehicle where ${visibleTo(viewer)})`;

/** SQL that is true for the rows behind an identifier. @throws Failure INVALID_PARAMETER */
export function following(column: string, after: string | undefined): RawBuilder<boolean> {
  if (after === undefined) return sql<boolean>`true`;
  if (!isUuid(after)) throw invalidParameter('after', 'must be an identifier of the list');
  return sql<boolean>`${sql.ref(column)} > ${after}`;
}

export async function firstRow<Row>(db: Database, statement: RawBuilder<Row>): Promise<Row | undefined> {
  return (await statement.execute(db)).rows[0];
}

/** @throws Failure NOT_FOUND for a malformed identifier */
export function requireUuid(id: string): string {
  if (!isUuid(id)) throw new Failure('NOT_FOUND');
  return id;
}

/** Ends open alarms now. @returns their ids */
export async function endAlarms(db: Database, condition: RawBuilder<boolean>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`update alarm set cleared_at = greatest(raised_at, clock_timestamp())
    where cleared_at is null and ${condition} returning id`.execute(db);
  return rows.map(({ id }) => id);
}

export interface ShownGeofence {
  id: string;
  appId: string;
  name: string;
  geometry: object;
  radiusMetres?: number;
}

const geofenceColumns = sql`jsonb_strip_nulls(jsonb_build_object('id', geofence.id, 'appId', application.app_id,
  'name', geofence.name, 'geometry', geofence.geometry, 'radiusMetres', geofence.radius_metres)) as one`;

/** Lists geofences in the order of their identifiers. */
export async function listGeofences(
  db: Database,
  viewer: Viewer,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<ShownGeofence[]> {
  const { rows } = await sql<{ one: ShownGeofence }>`select ${geofenceColumns}
    from geofence join application on application.id = geofence.application_id
    where ${ofApplications('geofence.application_id', viewer)} and ${seesVehicles(viewer)}
      and ${following('geofence.id', after)}
    order by geofence.id limit ${limit}`.execute(db);
  return rows.map(({ one }) => one);
}

/** Creates a geofence. @returns its identifier @throws Failure TOO_MANY */
export async function createGeofence(
  db: Database,
  applicationId: number,
  { name, shape }: { name: string; shape: GeofenceShape },
): Promise<string> {
  await raiseIngestBarrier(db);
  const row = await firstRow(
    db,
    sql<{ id: string }>`insert into geofence (application_id, name, geometry, radius_metres)
      select ${applicationId}, ${name}, ${geometryOf(shape)}::jsonb, ${radiusOf(shape)}::float8
      where (select count(*) from geofence where application_id = ${applicationId}) < ${mostGeofences}
      returning id`,
  );
  if (!row) throw new Failure('TOO_MANY', `an application has at most ${mostGeofences} geofences`);
  return row.id;
}

const geometryOf = ({ type, coordinates }: GeofenceShape) => JSON.stringify({ type, coordinates });
const radiusOf = (shape: GeofenceShape) => (shape.type === 'Point' ? shape.radiusMetres : null);

/** Changes a geofence. Rules that use it begin again. @returns the ids of alarms that ended @throws Failure NOT_FOUND */
export async function updateGeofence(
  db: Database,
  applicationId: number,
  id: string,
  { name, shape }: { name: string; shape: GeofenceShape },
): Promise<string[]> {
  await raiseIngestBarrier(db);
  const row = await firstRow(
    db,
    sql<{ moved: boolean }>`with before as (
        select id, geometry, radius_metres from geofence
        where id = ${requireUuid(id)} and application_id = ${applicationId} for update)
      update geofence set name = ${name}, geometry = ${geometryOf(shape)}::jsonb, radius_metres = ${radiusOf(shape)}::float8
      from before where geofence.id = before.id
      returning (before.geometry, before.radius_metres) is distinct from (geofence.geometry, geofence.radius_metres) as moved`,
  );
  if (!row) throw new Failure('NOT_FOUND');
  if (!row.moved) return [];
  const { rows } = await sql<{ id: string }>`update alarm_rule set active_from = clock_timestamp()
    where geofence_id = ${id} returning id`.execute(db);
  return endAlarms(db, sql<boolean>`rule_id = any(${rows.map((rule) => rule.id)}::uuid[])`);
}

/** Deletes a geofence. @throws Failure NOT_FOUND; IN_USE while a rule uses it */
export async function deleteGeofence(db: Database, applicationId: number, id: string): Promise<void> {
  await raiseIngestBarrier(db);
  const rule = await firstRow(
    db,
    sql<{ name: string }>`select name from alarm_rule
      where geofence_id = ${requireUuid(id)} and application_id = ${applicationId} limit 1`,
  );
  if (rule) throw new Failure('IN_USE', `the alarm rule "${rule.name}" uses it`);
  const deleted = await firstRow(
    db,
    sql`delete from geofence where id = ${id} and application_id = ${applicationId} returning id`,
  );
  if (!deleted) throw new Failure('NOT_FOUND');
}
