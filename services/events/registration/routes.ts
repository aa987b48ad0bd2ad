import type { Caller } from '@odograph/contracts/caller';
import { invalidParameter } from '@odograph/contracts/failures';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { formatCursor } from '@odograph/event-list/cursor';
import { findEventCursorAt, findEventHead, requireKeptSince } from '@odograph/event-list/read-events';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { answers, pageHeaders, Succeeded } from '@odograph/http/schemas';
import type { Sealer } from '@odograph/runtime/sealing';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import type { AddressRules } from '../delivery/addresses.ts';
import type { Attempt } from '../delivery/context.ts';
import * as queries from './queries.ts';
import {
  formatDeadLetterCursor,
  parseDeadLetterCursor,
  requireApplication,
  requireUrl,
  requireVehicleIds,
} from './rules.ts';
import * as schemas from './schemas.ts';

/** Options of the routes. */
export interface WebhookRoutes {
  readonly db: Kysely<Tables>;
  readonly sealer: Sealer;
  readonly addresses: AddressRules;
  /** Of this process, which delivers to the webhooks that it creates. */
  readonly lease: string;
  /** Sends an event of type `webhook.test` to a webhook, whatever its state. */
  sendTest(webhookId: string): Promise<{ eventId: string; attempt: Attempt }>;
}

const path = '/v1/x/webhooks';
const route = { tags: ['webhooks'] };
const Deleted = Type.Object({ deleted: Succeeded }, { title: 'Deleted' });
/** A webhook sends data of an application elsewhere, so an operator needs the role that manages its keys. */
const config = { right: ['administrator', 'application'] as const };

type Request = { caller: Caller; ip: string };

/** Registration of webhooks, for applications. */
export function webhookRoutes(options: WebhookRoutes): RoutePlugin {
  return (http) => {
    http.addHook('preValidation', async ({ caller }) => requireApplication(caller));
    addCreation(http, options);
    addReading(http, options);
    addChanges(http, options);
    addRotation(http, options);
    addDeliveryLists(http, options);
    addReplay(http, options);
    addTest(http, options);
  };
}

const record = (db: Database, request: Request, action: string, id: string) =>
  appendAudit(db, { ...originOf(request), action, subject: `webhook:${id}`, outcome: 'done' });

/** Changes a webhook that is locked meanwhile, and records it in the audit. @throws Failure NOT_FOUND */
async function change<T>(
  db: Kysely<Tables>,
  request: Request & { params: { id: string } },
  action: string,
  work: (trx: Database, id: string) => Promise<T>,
): Promise<T> {
  const { caller, params } = request;
  return db.transaction().execute(async (trx) => {
    await queries.lockWebhook(trx, caller.applicationId, params.id);
    const result = await work(trx, params.id);
    await record(trx, request, action, params.id);
    return result;
  });
}

function fieldsOf(given: schemas.NewWebhook, addresses: AddressRules): queries.WebhookFields {
  const { url, types, vehicleIds, groupId } = given;
  return { url: requireUrl(url, addresses), types, groupId, vehicleIds: requireVehicleIds(vehicleIds) };
}

function addCreation(http: Http, { db, sealer, addresses, lease }: WebhookRoutes): void {
  http.post(
    path,
    {
      config,
      schema: {
        ...route,
        summary: 'Create a webhook, which events from now on are posted to; its secret is shown only once',
        body: schemas.NewWebhook,
        response: answers(schemas.WebhookSecret, 'UNAUTHORIZED', 'UNKNOWN_VEHICLE', 'TOO_MANY'),
      },
    },
    async (request) => {
      const { applicationId } = request.caller;
      const fields = fieldsOf(request.body, addresses);
      return db.transaction().execute(async (trx) => {
        const position = formatCursor(await findEventHead(trx, applicationId));
        const created = await queries.createWebhook(trx, sealer, applicationId, { ...fields, position, lease });
        await record(trx, request, 'webhook.create', created.id);
        return created;
      });
    },
  );
}

function addReading(http: Http, { db }: WebhookRoutes): void {
  http.get(
    path,
    {
      schema: {
        ...route,
        summary: 'List the webhooks of the application, with the state of their delivery',
        response: answers(Type.Object({ webhooks: Type.Array(schemas.Webhook) }), 'UNAUTHORIZED'),
      },
    },
    async ({ caller }) => ({ webhooks: await queries.listWebhooks(db, caller.applicationId) }),
  );
  http.get(
    `${path}/:id`,
    {
      schema: {
        ...route,
        summary: 'A webhook with the state of its delivery',
        params: schemas.WebhookPath,
        response: answers(schemas.Webhook, 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async ({ caller, params }) => queries.findWebhook(db, caller.applicationId, params.id),
  );
}

function addChanges(http: Http, { db, addresses }: WebhookRoutes): void {
  http.put(
    `${path}/:id`,
    {
      config,
      schema: {
        ...route,
        summary: 'Replace what is chosen about a webhook; it is enabled unless `enabled` is false',
        params: schemas.WebhookPath,
        body: schemas.ChangedWebhook,
        response: answers(schemas.Webhook, 'UNAUTHORIZED', 'UNKNOWN_VEHICLE', 'NOT_FOUND'),
      },
    },
    async (request) => {
      const { applicationId } = request.caller;
      const fields = { ...fieldsOf(request.body, addresses), enabled: request.body.enabled };
      return change(db, request, 'webhook.change', async (trx, id) => {
        await queries.changeWebhook(trx, applicationId, id, fields);
        return queries.findWebhook(trx, applicationId, id);
      });
    },
  );
  http.delete(
    `${path}/:id`,
    {
      config,
      schema: {
        ...route,
        summary: 'Delete a webhook with its log; what is in flight may still arrive',
        params: schemas.WebhookPath,
        response: answers(Deleted, 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async (request) => {
      await change(db, request, 'webhook.delete', queries.deleteWebhook);
      return { deleted: true };
    },
  );
}

function addRotation(http: Http, { db, sealer }: WebhookRoutes): void {
  http.post(
    `${path}/:id/rotate`,
    {
      config,
      schema: {
        ...route,
        summary: 'Replace the secret of a webhook, shown only once; for 24 hours both secrets sign',
        params: schemas.WebhookPath,
        response: answers(schemas.WebhookSecret, 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async (request) =>
      change(db, request, 'webhook.rotate', async (trx, id) => ({
        id,
        secret: await queries.rotateSecret(trx, sealer, id),
      })),
  );
}

function addDeliveryLists(http: Http, { db }: WebhookRoutes): void {
  const list = { ...route, params: schemas.WebhookPath, answerHeaders: pageHeaders };
  http.get(
    `${path}/:id/deliveries`,
    {
      schema: {
        ...list,
        summary: 'List the attempts of the last three days, the newest first',
        querystring: schemas.DeliveriesQuery,
        response: answers(Type.Object({ deliveries: Type.Array(schemas.Delivery) }), 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async ({ caller, params: { id }, query }, reply) => {
      await queries.findWebhook(db, caller.applicationId, id);
      const { body, next } = await queries.pageOfDeliveries(db, `${path}/${id}/deliveries`, id, query);
      return sendPage(reply, body, next);
    },
  );
  http.get(
    `${path}/:id/dead-letters`,
    {
      schema: {
        ...list,
        summary: 'List dead letters: events not delivered within three days, newest first',
        querystring: schemas.DeadLettersQuery,
        response: answers(Type.Object({ deadLetters: Type.Array(schemas.DeadLetter) }), 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async ({ caller, params: { id }, query: { limit, after } }, reply) => {
      await queries.findWebhook(db, caller.applicationId, id);
      const position = after === undefined ? undefined : parseDeadLetterCursor(after);
      const found = await queries.listDeadLetters(db, id, position, limit + 1);
      const deadLetters = found.slice(0, limit);
      const last = found.length > limit ? deadLetters.at(-1) : undefined;
      const next = last && {
        path: `${path}/${id}/dead-letters`,
        parameters: { limit: String(limit), after: formatDeadLetterCursor(last) },
      };
      return sendPage(reply, JSON.stringify({ deadLetters }), next);
    },
  );
}

function addReplay(http: Http, { db }: WebhookRoutes): void {
  http.post(
    `${path}/:id/replay`,
    {
      config,
      schema: {
        ...route,
        summary: 'Send events again: all of them from a time on in order, or some dead letters',
        params: schemas.WebhookPath,
        body: schemas.Replay,
        exactlyOne: ['from', 'eventIds'],
        response: answers(schemas.Replaying, 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async (request) => {
      const { from, eventIds } = request.body;
      if ((from === undefined) === (eventIds === undefined)) {
        throw invalidParameter('from', 'or eventIds must be given, not both');
      }
      const { applicationId } = request.caller;
      return change(db, request, 'webhook.replay', async (trx, id) => {
        if (eventIds !== undefined) return { deadLetters: await queries.replayDeadLetters(trx, id, eventIds) };
        const time = new Date(Number(parseTimestamp('from', from ?? '') / 1000n));
        await requireKeptSince(trx, applicationId, time, 'from');
        await queries.rewindWebhook(trx, id, await findEventCursorAt(trx, applicationId, time));
        return {};
      });
    },
  );
}

function addTest(http: Http, { db, sendTest }: WebhookRoutes): void {
  http.post(
    `${path}/:id/test`,
    {
      config,
      schema: {
        ...route,
        summary: 'Post an event of type webhook.test now, once, and answer what came of it',
        params: schemas.WebhookPath,
        response: answers(schemas.TestDelivery, 'UNAUTHORIZED', 'NOT_FOUND'),
      },
    },
    async (request) => {
      await change(db, request, 'webhook.test', async () => undefined);
      const { eventId, attempt } = await sendTest(request.params.id);
      const { outcome, status, durationMs, error } = attempt;
      const answer = { ...(status !== undefined && { status }), ...(error !== undefined && { error }) };
      return { delivered: outcome === 'delivered', eventId, durationMs, ...answer };
    },
  );
}
