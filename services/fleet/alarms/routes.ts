import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { actorOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findVehicle, parseVehicleId } from '@odograph/database/vehicle-access';
import { Alarm } from '@odograph/http/alarm-schema';
import type { Http } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { answers, pageHeaders } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import {
  addGeofenceChanges,
  addGeofenceCreation,
  Changed,
  Deleted,
  listGeofences,
  record,
  requireParameters,
  route,
} from './geofences.ts';
import * as queries from './queries.ts';
import * as schemas from './schemas.ts';

/** The next page of a list by identifiers. */
export function nextPage<One extends { id: string }>(path: string, found: readonly One[], limit: number) {
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { page, next: last && { path, parameters: { limit: String(limit), after: last.id } } };
}

/** Everyone who sees vehicles reads rules, geofences and alarms; changes are made within one application. */
export const alarms: FleetRoutes = {
  viewer: [addRuleViews, addAlarmList],
  token: [addGeofenceCreation, addGeofenceChanges, addRuleCreation, addRuleChanges, addAcknowledgement],
};

function addRuleViews(http: Http, { db }: Fleet): void {
  const schema = { ...route, querystring: schemas.ListQuery, answerHeaders: pageHeaders };
  const listRulesSchema = {
    ...schema,
    summary: 'List the rules that raise alarms',
    response: answers(Type.Object({ rules: Type.Array(schemas.AlarmRule) })),
  };
  http.get('/v1/x/alarm-rules', { schema: listRulesSchema }, async ({ viewer, query: { after, limit } }, reply) => {
    const found = await queries.listRules(db, viewer, { after, limit: limit + 1 });
    const { page, next } = nextPage('/v1/x/alarm-rules', found, limit);
    return sendPage(reply, JSON.stringify({ rules: page }), next);
  });

  const listGeofencesSchema = {
    ...schema,
    summary: 'List geofences',
    response: answers(Type.Object({ geofences: Type.Array(schemas.Geofence) })),
  };
  http.get('/v1/x/geofences', { schema: listGeofencesSchema }, async ({ viewer, query: { after, limit } }, reply) => {
    const found = await listGeofences(db, viewer, { after, limit: limit + 1 });
    const { page, next } = nextPage('/v1/x/geofences', found, limit);
    return sendPage(reply, JSON.stringify({ geofences: page }), next);
  });
}

function addAlarmList(http: Http, { db, addresses }: Fleet): void {
  const path = '/v1/x/alarms';
  const listAlarmsSchema = {
    ...route,
    summary: 'List alarms, the newest first',
    querystring: schemas.AlarmsQuery,
    answerHeaders: pageHeaders,
    response: answers(Type.Object({ alarms: Type.Array(Alarm) })),
  };
  http.get(path, { schema: listAlarmsSchema }, async ({ viewer, query }, reply) => {
    const found = await queries.listAlarms(db, viewer, query, query.limit + 1);
    const alarms = found.slice(0, query.limit);
    if (query.address) {
      await addresses.addTo(
        db,
        alarms.map(({ vehicleId, location }) => [vehicleId, location]),
      );
    }
    const last = found.length > query.limit ? alarms.at(-1) : undefined;
    const given = Object.entries(query).map(([name, value]) => [name, String(value)]);
    const next = last && { path, parameters: { ...Object.fromEntries(given), after: queries.cursorOf(last) } };
    return sendPage(reply, JSON.stringify({ alarms }), next);
  });
}

/**
 * Checks that the caller manages the vehicles. A rule for all vehicles or for groups requires the application itself or an
 * operator.
 * @param ifHidden the failure for a vehicle that the caller has no access to
 * @throws Failure UNAUTHORIZED, or `ifHidden`
 */
async function requireVehicles(
  db: Database,
  caller: Caller,
  { vehicleIds = [], groupIds = [] }: Pick<queries.RuleFields, 'vehicleIds' | 'groupIds'>,
  ifHidden: 'UNKNOWN_VEHICLE' | 'NOT_FOUND' = 'UNKNOWN_VEHICLE',
): Promise<void> {
  if (caller.userId !== undefined && (vehicleIds.length === 0 || groupIds.length > 0)) {
    throw new Failure('UNAUTHORIZED', 'a user must list the vehicles of a rule');
  }
  if (vehicleIds.length === 0) return;
  const { rows } = await sql<{ permitted: boolean }>`select ${accessibleTo(caller, 'manage')} as permitted
    from vehicle where id = any(${[...vehicleIds]}::integer[]) and ${accessibleTo(caller)}`.execute(db);
  if (rows.length < new Set(vehicleIds).size) throw new Failure(ifHidden);
  if (!rows.every(({ permitted }) => permitted)) throw new Failure('UNAUTHORIZED');
}

/** @throws Failure INVALID_PARAMETER, UNKNOWN_VEHICLE */
function toRuleFields({ name, kind, parameters = {}, vehicleIds, groupIds }: schemas.NewAlarmRule): queries.RuleFields {
  requireParameters(kind, parameters);
  const parsed = vehicleIds?.map((id) => {
    const number = parseVehicleId(id);
    if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
    return number;
  });
  return { name, kind, parameters, vehicleIds: parsed, groupIds };
}

function addRuleCreation(http: Http, { db }: Fleet): void {
  const createRuleSchema = {
    ...route,
    summary: 'Create a rule that raises alarms',
    body: schemas.NewAlarmRule,
    response: answers(Changed, 'UNAUTHORIZED', 'UNKNOWN_VEHICLE', 'TOO_MANY'),
  };
  http.post('/v1/x/alarm-rules', { schema: createRuleSchema }, async (request) => {
    const { caller } = request;
    const fields = toRuleFields(request.body);
    await requireVehicles(db, caller, fields);
    return db.transaction().execute(async (trx) => {
      const id = await queries.createRule(trx, caller.applicationId, fields);
      await record(trx, request, 'alarm-rule.create', `alarm-rule:${id}`);
      return { id };
    });
  });
}

function addRuleChanges(http: Http, { db, changes }: Fleet): void {
  const replaceRuleSchema = {
    ...route,
    summary: 'Replace a rule; with other parameters it begins again',
    params: schemas.RulePath,
    body: schemas.NewAlarmRule,
    response: answers(Changed, 'UNAUTHORIZED', 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
  };
  http.put('/v1/x/alarm-rules/:id', { schema: replaceRuleSchema }, async (request) => {
    const { caller, params } = request;
    const fields = toRuleFields(request.body);
    const alarmIds = await db.transaction().execute(async (trx) => {
      const known = await queries.lockRule(trx, caller.applicationId, params.id);
      await requireVehicles(trx, caller, known, 'NOT_FOUND');
      await requireVehicles(trx, caller, fields);
      if (known.kind !== fields.kind) throw invalidParameter('kind', 'cannot change');
      const ended = await queries.updateRule(trx, caller.applicationId, params.id, fields);
      await record(trx, request, 'alarm-rule.change', `alarm-rule:${params.id}`);
      return ended;
    });
    await changes.announce({ alarmIds });
    return { id: params.id };
  });

  const deleteRuleSchema = {
    ...route,
    summary: 'Delete a rule; its alarms end and stay',
    params: schemas.RulePath,
    response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.delete('/v1/x/alarm-rules/:id', { schema: deleteRuleSchema }, async (request) => {
    const { caller, params } = request;
    const alarmIds = await db.transaction().execute(async (trx) => {
      const known = await queries.lockRule(trx, caller.applicationId, params.id);
      await requireVehicles(trx, caller, known, 'NOT_FOUND');
      const ended = await queries.deleteRule(trx, params.id);
      await record(trx, request, 'alarm-rule.delete', `alarm-rule:${params.id}`);
      return ended;
    });
    await changes.announce({ alarmIds });
    return { deleted: true };
  });
}

function addAcknowledgement(http: Http, { db, changes }: Fleet): void {
  const acknowledgeSchema = {
    ...route,
    summary: 'Acknowledge an alarm with a note; of two people, the second is told who was first',
    params: schemas.AlarmPath,
    body: schemas.Acknowledgement,
    response: answers(Alarm, 'UNAUTHORIZED', 'NOT_FOUND', 'ALREADY_ACKNOWLEDGED'),
  };
  http.post('/v1/x/alarms/:id/acknowledge', { schema: acknowledgeSchema }, async (request) => {
    const { caller, params } = request;
    const { vehicleId } = await queries.findAlarm(db, caller, params.id);
    await findVehicle(db, caller, vehicleId, 'manage');
    const alarm = await db.transaction().execute(async (trx) => {
      const done = await queries.acknowledgeAlarm(trx, params.id, actorOf(caller), request.body.note?.trim() ?? '');
      const found = await queries.findAlarm(trx, caller, params.id);
      const { acknowledgedBy, acknowledgedAt } = found;
      if (!done) throw new Failure('ALREADY_ACKNOWLEDGED', `${acknowledgedBy} acknowledged it at ${acknowledgedAt}`);
      await record(trx, request, 'alarm.acknowledge', `alarm:${params.id}`);
      return found;
    });
    await changes.announce({ alarmIds: [alarm.id] });
    return alarm;
  });
}
