import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { findApplicationId } from '@odograph/database/accounts';
import { auditChange, operatorOrigin, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { formatCursor } from '@odograph/event-list/cursor';
import { findEventHead } from '@odograph/event-list/read-events';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { AppId, answers, pageHeaders, Succeeded } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import type { Attempt } from '../delivery/context.ts';
import type { PostOptions } from '../delivery/receiver.ts';
import * as webhooks from '../registration/queries.ts';
import { requireVehicleIds } from '../registration/rules.ts';
import { DeliveriesQuery, Delivery, TestDelivery } from '../registration/schemas.ts';
import { openPushKey } from './push-key.ts';
import * as queries from './queries.ts';
import { readChannel, requireChannel } from './rules.ts';
import * as schemas from './schemas.ts';

/** Options of the routes. */
export interface NotificationRoutes extends PostOptions {
  readonly db: Kysely<Tables>;
  /** The lease of this process, which delivers the notifications that it creates. */
  readonly lease: string;
  /** Sends a message of type `notification.test`, regardless of the state of the notification. */
  sendTest(id: string): Promise<{ eventId: string; attempt: Attempt }>;
}

const path = '/v1/x/notifications';
const operatorPath = '/v1/x/admin/notifications';
const route = { tags: ['notifications'] };
const Deleted = Type.Object({ deleted: Succeeded }, { title: 'Deleted' });
const TestMessage = Type.Object(TestDelivery.properties, { title: 'TestMessage' });
/** Notifications send application data to third parties, as webhooks do. */
const config = { right: ['administrator', 'application'] as const };

type Request = { caller: Caller; ip: string; params: { id: string } };

function requireApplication({ userId }: Caller): void {
  if (userId !== undefined)
    throw new Failure('UNAUTHORIZED', 'a notification belongs to an application, not to a user');
}

/** Registers the notification routes for applications. */
export function notificationRoutes(options: NotificationRoutes): RoutePlugin {
  return (http) => {
    http.addHook('preValidation', async ({ caller }) => requireApplication(caller));
    addCreation(http, options);
    addReading(http, options);
    addChanges(http, options);
    addLog(http, options);
    addTest(http, options);
  };
}

/** Registers the same routes for operators, as the CLI uses them. */
export function operatorNotificationRoutes(options: NotificationRoutes): RoutePlugin {
  return (http) => {
    addOperatorCreation(http, options);
    addOperatorLists(http, options);
    addOperatorChanges(http, options);
  };
}

async function create(
  trx: Database,
  { sealer, addresses, mailer, lease }: NotificationRoutes,
  applicationId: number,
  body: schemas.NewNotification,
): Promise<string> {
  const channel = requireChannel(body, addresses, mailer !== undefined);
  const position = formatCursor(await findEventHead(trx, applicationId));
  const fields = { url: null, types: body.events, vehicleIds: requireVehicleIds(body.vehicleIds), position, lease };
  const settings = JSON.stringify(channel.settings);
  const { id } = await webhooks.createWebhook(trx, sealer, applicationId, fields, settings);
  await queries.writeSettings(trx, applicationId, id, body, channel);
  return id;
}

/** Locks a notification, changes it and audits the change. @throws Failure NOT_FOUND */
async function change<T>(
  db: Kysely<Tables>,
  request: Request,
  action: string,
  work: (trx: Database, id: string) => Promise<T>,
): Promise<T> {
  const { caller, params } = request;
  return db.transaction().execute(async (trx) => {
    await webhooks.lockWebhook(trx, caller.applicationId, params.id, 'notification');
    const result = await work(trx, params.id);
    await auditChange(trx, originOf(request), `notification.${action}`, `notification:${params.id}`);
    return result;
  });
}

function describeTest({ eventId, attempt }: { eventId: string; attempt: Attempt }) {
  const { outcome, status, durationMs, error } = attempt;
  const answer = { ...(status !== undefined && { status }), ...(error !== undefined && { error }) };
  return { delivered: outcome === 'delivered', eventId, durationMs, ...answer };
}

function addCreation(http: Http, options: NotificationRoutes): void {
  const schema = {
    ...route,
    summary: 'Create a notification for events from now on',
    body: schemas.NewNotification,
    response: answers(schemas.CreatedNotification, 'UNAUTHORIZED', 'UNKNOWN_VEHICLE', 'TOO_MANY'),
  };
  http.post(path, { config, schema }, async (request) =>
    options.db.transaction().execute(async (trx) => {
      const id = await create(trx, options, request.caller.applicationId, request.body);
      await auditChange(trx, originOf(request), 'notification.create', `notification:${id}`);
      return { id };
    }),
  );
}

function addReading(http: Http, { db, sealer }: NotificationRoutes): void {
  const listSchema = {
    ...route,
    summary: 'List the notifications of the application, without their credentials',
    response: answers(Type.Object({ notifications: Type.Array(schemas.Notification) }), 'UNAUTHORIZED'),
  };
  http.get(path, { schema: listSchema }, async ({ caller }) => ({
    notifications: await queries.listNotifications(db, caller.applicationId),
  }));
  const keySchema = {
    ...route,
    summary: 'Get the public key that browsers need to subscribe to push messages',
    response: answers(schemas.PushKey, 'UNAUTHORIZED'),
  };
  http.get(`${path}/push-key`, { schema: keySchema }, async () => {
    const { publicKey } = await openPushKey(db, sealer);
    return { publicKey };
  });
  const schema = {
    ...route,
    summary: 'Get a notification with the state of its delivery',
    params: schemas.NotificationPath,
    response: answers(schemas.Notification, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.get(`${path}/:id`, { schema }, async ({ caller, params }) =>
    queries.findNotification(db, caller.applicationId, params.id),
  );
}

function addChanges(http: Http, { db, sealer, addresses, mailer }: NotificationRoutes): void {
  const schema = {
    ...route,
    summary: 'Replace the settings of a notification; the current channel stays if none is given',
    params: schemas.NotificationPath,
    body: schemas.ChangedNotification,
    response: answers(schemas.Notification, 'UNAUTHORIZED', 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
  };
  http.put(`${path}/:id`, { config, schema }, async (request) => {
    const { body, caller } = request;
    const channel = readChannel(body, addresses, mailer !== undefined);
    return change(db, request, 'change', async (trx, id) => {
      const { events: types, enabled } = body;
      const vehicleIds = requireVehicleIds(body.vehicleIds);
      await webhooks.changeWebhook(trx, caller.applicationId, id, { url: null, types, vehicleIds, enabled });
      await queries.writeSettings(trx, caller.applicationId, id, body, channel);
      if (channel) await queries.sealChannel(trx, sealer, id, channel.settings);
      return queries.findNotification(trx, caller.applicationId, id);
    });
  });
  const subscription = {
    ...route,
    summary: 'Replace the subscription of a push notification after the browser has renewed it',
    params: schemas.NotificationPath,
    body: Type.Object({ push: schemas.Channels.push }),
    response: answers(schemas.Notification, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.put(`${path}/:id/push`, { config, schema: subscription }, async (request) => {
    const { body, caller } = request;
    const channel = requireChannel(body, addresses, false);
    return change(db, request, 'change', async (trx, id) => {
      await queries.replaceSubscription(trx, sealer, id, channel);
      return queries.findNotification(trx, caller.applicationId, id);
    });
  });
  const deletion = {
    ...route,
    summary: 'Delete a notification with its log; messages in flight may still arrive',
    params: schemas.NotificationPath,
    response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.delete(`${path}/:id`, { config, schema: deletion }, async (request) => {
    await change(db, request, 'delete', webhooks.deleteWebhook);
    return { deleted: true };
  });
}

function addLog(http: Http, { db }: NotificationRoutes): void {
  const schema = {
    ...route,
    summary: 'List the delivery attempts of the last three days, newest first',
    params: schemas.NotificationPath,
    answerHeaders: pageHeaders,
    querystring: DeliveriesQuery,
    response: answers(Type.Object({ deliveries: Type.Array(Delivery) }), 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.get(`${path}/:id/deliveries`, { schema }, async ({ caller, params: { id }, query }, reply) => {
    await queries.findNotification(db, caller.applicationId, id);
    const { body, next } = await webhooks.pageOfDeliveries(db, `${path}/${id}/deliveries`, id, query);
    return sendPage(reply, body, next);
  });
}

function addTest(http: Http, { db, sendTest }: NotificationRoutes): void {
  const schema = {
    ...route,
    summary: 'Send a test message once, and return the outcome; counts towards `maxPerHour`',
    params: schemas.NotificationPath,
    response: answers(TestMessage, 'UNAUTHORIZED', 'NOT_FOUND'),
  };
  http.post(`${path}/:id/test`, { config, schema }, async (request) => {
    await change(db, request, 'test', async () => undefined);
    return describeTest(await sendTest(request.params.id));
  });
}

function addOperatorCreation(http: Http, options: NotificationRoutes): void {
  const schema = {
    summary: 'Create a notification of an application',
    body: Type.Object({ appId: AppId, ...schemas.NewNotification.properties }),
    response: answers(schemas.CreatedNotification, 'UNKNOWN_APPLICATION', 'UNKNOWN_VEHICLE', 'TOO_MANY'),
  };
  http.post(operatorPath, { schema }, async ({ body, ip, operator }) =>
    options.db.transaction().execute(async (trx) => {
      const applicationId = await findApplicationId(trx, body.appId, operator.applicationIds);
      const id = await create(trx, options, applicationId, body);
      await auditChange(
        trx,
        operatorOrigin({ ip, operator }, applicationId),
        'notification.create',
        `notification:${id}`,
      );
      return { id };
    }),
  );
}

function addOperatorLists(http: Http, { db }: NotificationRoutes): void {
  const schema = {
    summary: 'List the notifications of an application, without their credentials',
    querystring: Type.Object({ appId: AppId }),
    response: answers(Type.Object({ notifications: Type.Array(schemas.Notification) }), 'UNKNOWN_APPLICATION'),
  };
  http.get(operatorPath, { schema }, async ({ query: { appId }, operator }) => {
    const applicationId = await findApplicationId(db, appId, operator.applicationIds);
    return { notifications: await queries.listNotifications(db, applicationId) };
  });
}

function addOperatorChanges(http: Http, { db, sendTest }: NotificationRoutes): void {
  const deletion = {
    summary: 'Delete a notification',
    params: schemas.NotificationPath,
    response: answers(Deleted, 'NOT_FOUND'),
  };
  http.delete(`${operatorPath}/:id`, { schema: deletion }, async ({ params: { id }, ip, operator }) => {
    await db.transaction().execute(async (trx) => {
      const applicationId = await queries.findApplicationOf(trx, id, operator.applicationIds);
      await webhooks.deleteWebhook(trx, id);
      await auditChange(
        trx,
        operatorOrigin({ ip, operator }, applicationId),
        'notification.delete',
        `notification:${id}`,
      );
    });
    return { deleted: true };
  });
  const test = {
    summary: 'Send a test message once, and return the outcome; counts towards `maxPerHour`',
    params: schemas.NotificationPath,
    response: answers(TestMessage, 'NOT_FOUND'),
  };
  http.post(`${operatorPath}/:id/test`, { schema: test }, async ({ params: { id }, ip, operator }) => {
    const applicationId = await queries.findApplicationOf(db, id, operator.applicationIds);
    await auditChange(db, operatorOrigin({ ip, operator }, applicationId), 'notification.test', `notification:${id}`);
    return describeTest(await sendTest(id));
  });
}
