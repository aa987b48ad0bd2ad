import type { Caller, Operator } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { type AuditOrigin, auditChange, operatorOrigin, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { findGroupOwner } from '@odograph/database/vehicle-groups';
import type { Http } from '@odograph/http/http';
import { AppId, answers } from '@odograph/http/schemas';
import Type from 'typebox';
import { Changed, Deleted } from '../alarms/geofences.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import * as queries from './queries.ts';
import * as schemas from './schemas.ts';

const route = { tags: ['groups'] };
/** Changes of groups change the access of users with group grants. */
const config = { right: ['administrator', 'application'] as const };

/** Routes for groups: viewers read them, applications and administrators change them. */
export const groups: FleetRoutes = {
  viewer: [addViews],
  token: [addCreation, addChanges],
  operator: [addOperatorRoutes],
};

/** Rejects users, because groups determine the access of others. @throws Failure UNAUTHORIZED */
function requireApplication({ userId }: Caller): void {
  if (userId !== undefined) throw new Failure('UNAUTHORIZED', 'groups belong to an application, not to a user');
}

function addViews(http: Http, { db }: Fleet): void {
  const listSchema = {
    ...route,
    summary: 'List groups of vehicles as a tree, with vehicle counts',
    response: answers(schemas.GroupList),
  };
  http.get('/v1/x/groups', { schema: listSchema }, async ({ viewer }) => ({
    groups: await queries.listGroups(db, viewer),
  }));

  const showSchema = {
    ...route,
    summary: 'Get a group with its vehicles',
    params: schemas.GroupPath,
    response: answers(schemas.GroupWithVehicles, 'NOT_FOUND'),
  };
  http.get('/v1/x/groups/:id', { schema: showSchema }, async ({ viewer, params }) =>
    queries.findGroup(db, viewer, params.id),
  );
}

async function create(db: Database, origin: AuditOrigin, fields: schemas.NewGroup): Promise<{ id: string }> {
  const id = await queries.createGroup(db, origin.chain, fields);
  await auditChange(db, origin, 'group.create', `group:${id}`);
  return { id };
}

async function setVehicles(db: Database, origin: AuditOrigin, id: string, vehicleIds: string[]): Promise<string[]> {
  const { alarmIds, added, removed } = await queries.setVehicles(db, origin.chain, id, vehicleIds);
  await auditChange(db, origin, 'group.vehicles', `group:${id}`, {
    added: added.join(' '),
    removed: removed.join(' '),
  });
  return alarmIds;
}

async function remove(db: Database, origin: AuditOrigin, id: string): Promise<{ deleted: true }> {
  await queries.deleteGroup(db, origin.chain, id);
  await auditChange(db, origin, 'group.delete', `group:${id}`);
  return { deleted: true };
}

const vehiclesSchema = {
  ...route,
  summary: 'Replace the vehicles of a group; its grants and alarm rules then apply to the new ones',
  params: schemas.GroupPath,
  body: schemas.GroupVehicles,
  response: answers(Changed, 'UNAUTHORIZED', 'NOT_FOUND', 'UNKNOWN_VEHICLE'),
};
const deleteSchema = {
  ...route,
  summary: 'Delete a group and end its grants; a group with subgroups, alarm rules or report schedules is in use',
  params: schemas.GroupPath,
  response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND', 'IN_USE'),
};

function addCreation(http: Http, { db }: Fleet): void {
  const createSchema = {
    ...route,
    summary: 'Create a group of vehicles',
    body: schemas.NewGroup,
    response: answers(schemas.GroupCreated, 'UNAUTHORIZED', 'TOO_MANY'),
  };
  http.post('/v1/x/groups', { schema: createSchema, config }, async (request) => {
    requireApplication(request.caller);
    return db.transaction().execute((trx) => create(trx, originOf(request), request.body));
  });
}

function addChanges(http: Http, { db, changes }: Fleet): void {
  const changeSchema = {
    ...route,
    summary: 'Rename a group, or move it with its subgroups; omitted members stay',
    params: schemas.GroupPath,
    body: schemas.GroupChange,
    response: answers(Changed, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.put('/v1/x/groups/:id', { schema: changeSchema, config }, async (request) => {
    const { caller, params, body } = request;
    requireApplication(caller);
    const alarmIds = await db.transaction().execute(async (trx) => {
      const ended = await queries.updateGroup(trx, caller.applicationId, params.id, body);
      await auditChange(trx, originOf(request), 'group.change', `group:${params.id}`, { ...body });
      return ended;
    });
    await changes.announce({ alarmIds });
    return { id: params.id };
  });

  http.put('/v1/x/groups/:id/vehicles', { schema: vehiclesSchema, config }, async (request) => {
    const { caller, params, body } = request;
    requireApplication(caller);
    const alarmIds = await db
      .transaction()
      .execute((trx) => setVehicles(trx, originOf(request), params.id, body.vehicleIds));
    await changes.announce({ alarmIds });
    return { id: params.id };
  });

  http.delete('/v1/x/groups/:id', { schema: deleteSchema, config }, async (request) => {
    requireApplication(request.caller);
    return db.transaction().execute((trx) => remove(trx, originOf(request), request.params.id));
  });
}

/** Adds the same routes for the holder of the admin token, who acts for no application. */
function addOperatorRoutes(http: Http, { db, changes }: Fleet): void {
  const listSchema = {
    summary: 'List the groups of an application as a tree',
    querystring: Type.Object({ appId: AppId }),
    response: answers(schemas.GroupList, 'UNKNOWN_APPLICATION'),
  };
  http.get('/v1/x/admin/groups', { schema: listSchema }, async ({ query, operator }) => ({
    groups: await queries.listGroups(db, {
      applicationIds: [await findApplicationId(db, query.appId, operator.applicationIds)],
    }),
  }));

  const createSchema = {
    summary: 'Create a group of vehicles of an application',
    body: Type.Object({ appId: AppId, ...schemas.newGroupFields }),
    response: answers(schemas.GroupCreated, 'UNKNOWN_APPLICATION', 'TOO_MANY'),
  };
  http.post('/v1/x/admin/groups', { schema: createSchema }, async (request) => {
    const { appId, ...fields } = request.body;
    const applicationId = await findApplicationId(db, appId, request.operator.applicationIds);
    return db.transaction().execute((trx) => create(trx, operatorOrigin(request, applicationId), fields));
  });

  const originFor = async (request: { operator: Operator; ip: string; params: { id: string } }) =>
    operatorOrigin(request, await findGroupOwner(db, request.params.id, request.operator.applicationIds));
  http.put(
    '/v1/x/admin/groups/:id/vehicles',
    { schema: { ...vehiclesSchema, tags: ['operators'] } },
    async (request) => {
      const { params, body } = request;
      const origin = await originFor(request);
      const alarmIds = await db.transaction().execute((trx) => setVehicles(trx, origin, params.id, body.vehicleIds));
      await changes.announce({ alarmIds });
      return { id: params.id };
    },
  );

  http.delete('/v1/x/admin/groups/:id', { schema: { ...deleteSchema, tags: ['operators'] } }, async (request) => {
    const origin = await originFor(request);
    return db.transaction().execute((trx) => remove(trx, origin, request.params.id));
  });
}
