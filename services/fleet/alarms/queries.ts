import type { AlarmKind } from '@odograph/contracts/alarms';
import { type Caller, type Viewer, withinGroup } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import { isoMicroseconds, parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import { type ShownAlarm, selectAlarms } from '@odograph/database/alarms';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import { isoTime } from '@odograph/database/iso-time';
import { accessibleTo, parseVehicleId, visibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { endAlarms, firstRow, following, isUncovered, ofApplications, requireUuid, seesVehicles } from './geofences.ts';
import type { AlarmRule, AlarmsQuery, Parameters } from './schemas.ts';

/** Rules of an application, all of which each of its readings may be compared with. */
const maxRules = 100;

/** Lists the rules of applications; for a user, those of vehicles that it sees. */
export async function listRules(
  db: Database,
  viewer: Viewer,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<AlarmRule[]> {
  const isVisible = sql`((rule.all_vehicles and ${seesVehicles(viewer)}) or ${viewer.userId === undefined}
    or visible.ids <> '[]' or exists (select from vehicle join vehicle_group_member as member on member.vehicle_id = vehicle.id
      where member.group_id in (select groups_below(named.ids)) and ${visibleTo(viewer)}))`;
  const { rows } = await sql<{ one: AlarmRule }>`
    select jsonb_strip_nulls(jsonb_build_object('id', rule.id, 'appId', application.app_id, 'name', rule.name,
      'kind', rule.kind, 'parameters', rule.parameters || jsonb_build_object('geofenceId', rule.geofence_id),
      'vehicleIds', case when not rule.all_vehicles and (visible.ids <> '[]' or named.ids = '{}') then visible.ids end,
      'groupIds', case when named.ids <> '{}' then to_jsonb(named.ids) end,
      'activeFrom', ${isoTime('rule.active_from', 'microseconds')})) as one
    from alarm_rule as rule join application on application.id = rule.application_id
    cross join lateral (select coalesce(jsonb_agg(vehicle.id::text order by vehicle.id), '[]') as ids
      from alarm_rule_vehicle as listed join vehicle on vehicle.id = listed.vehicle_id
      where listed.rule_id = rule.id and ${visibleTo(viewer)}) as visible
    cross join lateral (
      select array(select group_id from alarm_rule_group where rule_id = rule.id order by group_id) as ids) as named
    where rule.deleted_at is null and ${ofApplications('rule.application_id', viewer)}
      and ${following('rule.id', after)} and ${isVisible}
    order by rule.id limit ${limit}`.execute(db);
  return rows.map(({ one }) => one);
}

/** The fields of a rule. */
export interface RuleFields {
  readonly name: string;
  readonly kind: AlarmKind;
  readonly parameters: Parameters;
  readonly vehicleIds: readonly number[] | undefined;
  /** Without vehicles and groups, the rule applies to all vehicles of the application. */
  readonly groupIds: readonly string[] | undefined;
}

const isForAll = ({ vehicleIds, groupIds }: Pick<RuleFields, 'vehicleIds' | 'groupIds'>): boolean =>
  vehicleIds === undefined && groupIds === undefined;

async function requireGeofence(db: Database, applicationId: number, { geofenceId }: Parameters) {
  if (geofenceId === undefined) return null;
  const found = isUuid(geofenceId)
    ? await firstRow(db, sql`select id from geofence where id = ${geofenceId} and application_id = ${applicationId}`)
    : undefined;
  if (!found) throw invalidParameter('parameters.geofenceId', 'names no geofence of the application');
  return geofenceId;
}

const parametersOf = ({ parameters: { geofenceId: _column, ...parameters } }: RuleFields) => JSON.stringify(parameters);

/** Creates a rule. @returns its identifier @throws Failure TOO_MANY, INVALID_PARAMETER for an unknown geofence */
export async function createRule(db: Database, applicationId: number, fields: RuleFields): Promise<string> {
  await raiseIngestBarrier(db);
  const geofenceId = await requireGeofence(db, applicationId, fields.parameters);
  const row = await firstRow(
    db,
    sql<{ id: string }>`insert into alarm_rule (application_id, name, kind, parameters, geofence_id, all_vehicles)
      select ${applicationId}, ${fields.name}, ${fields.kind}, ${parametersOf(fields)}::jsonb, ${geofenceId}::uuid,
        ${isForAll(fields)}::boolean
      where (select count(*) from alarm_rule where application_id = ${applicationId} and deleted_at is null)
        < ${maxRules}
      returning id`,
  );
  if (!row) throw new Failure('TOO_MANY', `an application has at most ${maxRules} alarm rules`);
  await addVehicles(db, row.id, fields.vehicleIds ?? []);
  await addGroups(db, applicationId, row.id, fields.groupIds ?? []);
  return row.id;
}

/** @throws Failure INVALID_PARAMETER for a group that is missing or of another application */
async function addGroups(db: Database, applicationId: number, ruleId: string, groupIds: readonly string[]) {
  const ids = [...new Set(groupIds.map((id) => id.toLowerCase()))];
  const { numAffectedRows } = await sql`insert into alarm_rule_group (rule_id, group_id)
    select ${ruleId}::uuid, id from vehicle_group
    where id = any(${ids.filter(isUuid)}::uuid[]) and application_id = ${applicationId}`.execute(db);
  if (numAffectedRows !== BigInt(ids.length)) throw invalidParameter('groupIds', 'must be groups of the application');
}

async function addVehicles(db: Database, ruleId: string, vehicleIds: readonly number[]): Promise<void> {
  if (vehicleIds.length === 0) return;
  await sql`insert into alarm_rule_vehicle (rule_id, vehicle_id)
    select ${ruleId}, one from unnest(${[...vehicleIds]}::integer[]) as one on conflict do nothing`.execute(db);
}

/**
 * Locks a rule.
 * @returns its kind, groups and vehicles; deleted vehicles, which it lists until their purge, are left out
 * @throws Failure NOT_FOUND, also for a rule of another application
 */
export async function lockRule(db: Database, applicationId: number, id: string) {
  await raiseIngestBarrier(db);
  const row = await firstRow(
    db,
    sql<{ kind: AlarmKind; vehicleIds: number[] | null; groupIds: string[] | null }>`select kind,
        case when not all_vehicles then array(
          select vehicle.id from alarm_rule_vehicle as listed join vehicle on vehicle.id = listed.vehicle_id
          where listed.rule_id = alarm_rule.id and vehicle.deleted_at is null) end as "vehicleIds",
        (select array_agg(group_id) from alarm_rule_group where rule_id = alarm_rule.id) as "groupIds"
      from alarm_rule where id = ${requireUuid(id)} and application_id = ${applicationId} and deleted_at is null
      for update`,
  );
  if (!row) throw new Failure('NOT_FOUND');
  return { kind: row.kind, vehicleIds: row.vehicleIds ?? undefined, groupIds: row.groupIds ?? undefined };
}

/**
 * Changes a rule that lockRule returned. Other parameters begin again and end its alarms; other vehicles end the alarms of
 * those that it no longer applies to.
 * @returns the ids of the alarms that ended
 */
export async function updateRule(db: Database, applicationId: number, id: string, fields: RuleFields) {
  const geofenceId = await requireGeofence(db, applicationId, fields.parameters);
  const changed = await firstRow(
    db,
    sql`update alarm_rule set parameters = ${parametersOf(fields)}::jsonb, geofence_id = ${geofenceId}::uuid,
        active_from = clock_timestamp()
      where id = ${id} and (parameters, geofence_id)
        is distinct from (${parametersOf(fields)}::jsonb, ${geofenceId}::uuid) returning id`,
  );
  const { vehicleIds = [], groupIds = [] } = fields;
  await sql`update alarm_rule set name = ${fields.name}, all_vehicles = ${isForAll(fields)} where id = ${id}`.execute(
    db,
  );
  await sql`delete from alarm_rule_vehicle where rule_id = ${id}
    and vehicle_id <> all(${[...vehicleIds]}::integer[])`.execute(db);
  await addVehicles(db, id, vehicleIds);
  await sql`delete from alarm_rule_group where rule_id = ${id}`.execute(db);
  await addGroups(db, applicationId, id, groupIds);
  return endAlarms(db, sql<boolean>`rule_id = ${id} and ${changed ? sql<boolean>`true` : isUncovered}`);
}

/** Deletes a rule that lockRule returned, and ends its alarms, which stay. @returns the ids of the alarms that ended */
export async function deleteRule(db: Database, id: string): Promise<string[]> {
  await sql`update alarm_rule set deleted_at = clock_timestamp(), geofence_id = null where id = ${id}`.execute(db);
  await sql`delete from alarm_rule_vehicle where rule_id = ${id}`.execute(db);
  await sql`delete from alarm_rule_group where rule_id = ${id}`.execute(db);
  return endAlarms(db, sql<boolean>`rule_id = ${id}`);
}

function timeBound(field: string, operator: '>=' | '<', time: Timestamp | undefined): RawBuilder<boolean>[] {
  if (time === undefined || time === '') return [];
  return [
    sql<boolean>`alarm.raised_at ${sql.raw(operator)} ${isoMicroseconds(parseTimestamp(field, time))}::timestamptz`,
  ];
}

const cursorForm = /^([0-9T:.Z-]{20,40})_([0-9a-f-]{36})$/;

/** The cursor of an alarm in the list. */
export const cursorOf = ({ raisedAt, id }: ShownAlarm): string => `${raisedAt}_${id}`;

function beyond(after: string | undefined): RawBuilder<boolean>[] {
  if (after === undefined) return [];
  const [, raisedAt = '', id = ''] = cursorForm.exec(after) ?? [];
  if (!isUuid(id)) throw invalidParameter('after', 'must be the position of a list');
  const time = isoMicroseconds(parseTimestamp('after', raisedAt));
  return [sql<boolean>`(alarm.raised_at, alarm.id) < (${time}::timestamptz, ${id}::uuid)`];
}

function filtersOf({ vehicleId, ruleId, kind, state, acknowledged, from, until, after }: AlarmsQuery) {
  const filters: RawBuilder<boolean>[] = [];
  if (vehicleId !== undefined) filters.push(sql<boolean>`alarm.vehicle_id = ${parseVehicleId(vehicleId) ?? 0}`);
  if (ruleId !== undefined) filters.push(sql<boolean>`alarm.rule_id::text = ${ruleId.toLowerCase()}`);
  if (kind !== undefined) filters.push(sql<boolean>`alarm.kind = ${kind}`);
  if (state !== undefined) filters.push(sql<boolean>`(alarm.cleared_at is null) = ${state === 'open'}`);
  if (acknowledged !== undefined) filters.push(sql<boolean>`(alarm.acknowledged_at is not null) = ${acknowledged}`);
  return [...filters, ...timeBound('from', '>=', from), ...timeBound('until', '<', until), ...beyond(after)];
}

/** Lists alarms, the newest first. @throws Failure INVALID_PARAMETER */
export async function listAlarms(db: Database, viewer: Viewer, query: AlarmsQuery, limit: number) {
  const conditions = [
    visibleTo(withinGroup(viewer, query.group)),
    ofApplications('alarm.application_id', viewer),
    ...filtersOf(query),
  ];
  const isListed = sql.join(conditions, sql` and `);
  return selectAlarms(db, sql`${isListed} order by alarm.raised_at desc, alarm.id desc limit ${limit}`);
}

/** Finds an alarm of a vehicle that the caller has access to. @throws Failure NOT_FOUND */
export async function findAlarm(db: Database, caller: Caller, id: string): Promise<ShownAlarm> {
  const [alarm] = await selectAlarms(db, sql`alarm.id = ${requireUuid(id)} and ${accessibleTo(caller)}`);
  if (!alarm) throw new Failure('NOT_FOUND');
  return alarm;
}

/** Acknowledges an alarm that is not acknowledged yet. @returns whether it did */
export async function acknowledgeAlarm(db: Database, id: string, by: string, note: string): Promise<boolean> {
  const row = await firstRow(
    db,
    sql`update alarm set acknowledged_at = clock_timestamp(), acknowledged_by = ${by}, note = ${note === '' ? null : note}
      where id = ${id} and acknowledged_at is null returning id`,
  );
  return row !== undefined;
}
