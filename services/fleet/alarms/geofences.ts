import { type AlarmKind, type AlarmParameterName, alarmKindParameters } from '@odograph/contracts/alarms';
import type { Caller, Viewer } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { GeofenceWindows } from '@odograph/contracts/geofence-windows';
import type { GeofenceShape } from '@odograph/contracts/geofences';
import { isUuid } from '@odograph/contracts/text-patterns';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { requireManager, visibleTo } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers, Succeeded } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type from 'typebox';
import type { Fleet } from '../common/fleet.ts';
import { requireShape, requireWindows } from './geofence-shapes.ts';
import type { Parameters } from './schemas.ts';
import * as schemas from './schemas.ts';

export const route = { tags: ['alarms'] };
export const Deleted = Type.Object({ deleted: Succeeded }, { title: 'Deleted' });
export const Changed = Type.Object({ id: Type.String() }, { title: 'Changed' });

type Request = { caller: Caller; ip: string };

export const record = (db: Database, request: Request, action: string, subject: string) =>
  appendAudit(db, { ...originOf(request), action, subject, outcome: 'done' });

export function addGeofenceCreation(http: Http, { db }: Fleet): void {
  const createSchema = {
    ...route,
    summary: 'Create a geofence: a circle around a Point, a Polygon, or a corridor along a LineString',
    body: schemas.NewGeofence,
    response: answers(Changed, 'UNAUTHORIZED', 'TOO_MANY'),
  };
  http.post('/v1/x/geofences', { schema: createSchema }, async (request) => {
    await requireManager(db, request.caller);
    const fields = toFields(request.body);
    return db.transaction().execute(async (trx) => {
      const id = await createGeofence(trx, request.caller.applicationId, fields);
      await record(trx, request, 'geofence.create', `geofence:${id}`);
      return { id };
    });
  });
}

export function addGeofenceChanges(http: Http, { db, changes }: Fleet): void {
  const replaceSchema = {
    ...route,
    summary: 'Replace a geofence; rules that use it begin again',
    params: schemas.GeofencePath,
    body: schemas.NewGeofence,
    response: answers(Changed, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.put('/v1/x/geofences/:id', { schema: replaceSchema }, async (request) => {
    const { caller, params, body } = request;
    await requireManager(db, caller);
    const fields = toFields(body);
    const alarmIds = await db.transaction().execute(async (trx) => {
      const ended = await updateGeofence(trx, caller.applicationId, params.id, fields);
      await record(trx, request, 'geofence.change', `geofence:${params.id}`);
      return ended;
    });
    await changes.announce({ alarmIds });
    return { id: params.id };
  });

  const deleteSchema = {
    ...route,
    summary: 'Delete a geofence that no rule uses',
    params: schemas.GeofencePath,
    response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND', 'IN_USE'),
  };
  http.delete('/v1/x/geofences/:id', { schema: deleteSchema }, async (request) => {
    await requireManager(db, request.caller);
    await db.transaction().execute(async (trx) => {
      await deleteGeofence(trx, request.caller.applicationId, request.params.id);
      await record(trx, request, 'geofence.delete', `geofence:${request.params.id}`);
    });
    return { deleted: true };
  });
}

const maxGeofences = 1000;

interface GeofenceFields {
  readonly name: string;
  readonly shape: GeofenceShape;
  /** Undefined if the geofence is always active. */
  readonly windows: GeofenceWindows | undefined;
}

/** @throws Failure INVALID_PARAMETER */
const toFields = (body: schemas.NewGeofence): GeofenceFields => ({
  name: body.name,
  shape: requireShape(body),
  windows: requireWindows(body),
});

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

/** SQL on `alarm` that is true if the rule no longer applies to the vehicle. */
export const isUncovered: RawBuilder<boolean> = sql<boolean>`(
  not (select all_vehicles from alarm_rule where alarm_rule.id = alarm.rule_id)
  and not exists (select from alarm_rule_vehicle as one
    where one.rule_id = alarm.rule_id and one.vehicle_id = alarm.vehicle_id)
  and not exists (select from vehicle_group_member as one where one.vehicle_id = alarm.vehicle_id
    and one.group_id in (select groups_below(array(
      select group_id from alarm_rule_group where rule_id = alarm.rule_id)))))`;

const geofenceColumns = sql`jsonb_strip_nulls(jsonb_build_object('id', geofence.id, 'appId', application.app_id,
  'name', geofence.name, 'geometry', geofence.geometry, 'radiusMetres', geofence.radius_metres,
  'widthMetres', geofence.width_metres)) || coalesce(geofence.windows, '{}') as one`;

/** Lists geofences in the order of their identifiers. */
export async function listGeofences(
  db: Database,
  viewer: Viewer,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<schemas.Geofence[]> {
  const { rows } = await sql<{ one: schemas.Geofence }>`select ${geofenceColumns}
    from geofence join application on application.id = geofence.application_id
    where ${ofApplications('geofence.application_id', viewer)} and ${seesVehicles(viewer)}
      and ${following('geofence.id', after)}
    order by geofence.id limit ${limit}`.execute(db);
  return rows.map(({ one }) => one);
}

/** Creates a geofence. @returns its identifier @throws Failure TOO_MANY */
async function createGeofence(
  db: Database,
  applicationId: number,
  { name, ...place }: GeofenceFields,
): Promise<string> {
  await raiseIngestBarrier(db);
  const row = await firstRow(
    db,
    sql<{ id: string }>`insert into geofence (application_id, name, ${columns})
      select ${applicationId}, ${name}, ${valuesOf(place)}
      where (select count(*) from geofence where application_id = ${applicationId}) < ${maxGeofences}
      returning id`,
  );
  if (!row) throw new Failure('TOO_MANY', `an application has at most ${maxGeofences} geofences`);
  return row.id;
}

/** The columns that decide whether a position is inside. */
const columns = sql`geometry, radius_metres, width_metres, windows`;
function valuesOf({ shape, windows }: Pick<GeofenceFields, 'shape' | 'windows'>) {
  const { type, coordinates } = shape;
  return sql`${JSON.stringify({ type, coordinates })}::jsonb, ${type === 'Point' ? shape.radiusMetres : null}::float8,
    ${type === 'LineString' ? shape.widthMetres : null}::float8, ${windows ? JSON.stringify(windows) : null}::jsonb`;
}

/** Changes a geofence. Rules that use it begin again. @returns the ids of alarms that ended @throws Failure NOT_FOUND */
async function updateGeofence(
  db: Database,
  applicationId: number,
  id: string,
  { name, ...place }: GeofenceFields,
): Promise<string[]> {
  await raiseIngestBarrier(db);
  const row = await firstRow(
    db,
    sql<{ moved: boolean }>`with before as (
        select id, ${columns} from geofence
        where id = ${requireUuid(id)} and application_id = ${applicationId} for update)
      update geofence set name = ${name}, (${columns}) = row(${valuesOf(place)})
      from before where geofence.id = before.id
      returning (before.geometry, before.radius_metres, before.width_metres, before.windows) is distinct from
        (geofence.geometry, geofence.radius_metres, geofence.width_metres, geofence.windows) as moved`,
  );
  if (!row) throw new Failure('NOT_FOUND');
  if (!row.moved) return [];
  const { rows } = await sql<{ id: string }>`update alarm_rule set active_from = clock_timestamp()
    where geofence_id = ${id} returning id`.execute(db);
  return endAlarms(db, sql<boolean>`rule_id = any(${rows.map((rule) => rule.id)}::uuid[])`);
}

/** Deletes a geofence. @throws Failure NOT_FOUND; IN_USE while a rule uses it */
async function deleteGeofence(db: Database, applicationId: number, id: string): Promise<void> {
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

/** Checks that a rule has the parameters of its kind and no others. @throws Failure INVALID_PARAMETER */
export function requireParameters(kind: AlarmKind, parameters: Parameters): void {
  const given = (Object.keys(parameters) as AlarmParameterName[]).filter((name) => parameters[name] !== undefined);
  const alternatives: readonly (readonly AlarmParameterName[])[] = alarmKindParameters[kind];
  const unknown = given.find((name) => !alternatives.some((names) => names.includes(name)));
  if (unknown !== undefined) throw invalidParameter(`parameters.${unknown}`, `does not belong to the kind ${kind}`);
  const chosen = alternatives.find((names) => names.some((name) => given.includes(name))) ?? alternatives[0] ?? [];
  const missing = chosen.find((name) => !given.includes(name));
  if (missing !== undefined) throw invalidParameter(`parameters.${missing}`, 'is missing');
  const surplus = given.find((name) => !chosen.includes(name));
  if (surplus !== undefined) throw invalidParameter(`parameters.${surplus}`, `excludes ${chosen.join(' and ')}`);
}
