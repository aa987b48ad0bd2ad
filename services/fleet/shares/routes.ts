import { readFileSync } from 'node:fs';
import type { Caller } from '@odograph/contracts/caller';
import { Failure, tooManyRequests } from '@odograph/contracts/failures';
import { type AuditOrigin, auditChange, operatorOrigin, originOf } from '@odograph/database/audit';
import { findVehicleOwner } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { pageStyle } from '@odograph/http/openapi';
import { pagePolicy } from '@odograph/http/page-policy';
import { sendPage } from '@odograph/http/paging';
import { answers, EmptyAnswer } from '@odograph/http/schemas';
import { networkOf } from '@odograph/runtime/network-address';
import { createToken } from '@odograph/runtime/secrets';
import { WindowCounter } from '@odograph/runtime/window-counter';
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { nextPage } from '../alarms/routes.ts';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { findArrival } from './arrival.ts';
import { showShare } from './positions.ts';
import * as queries from './queries.ts';
import * as schemas from './schemas.ts';

/** Routes for shares: links that show a vehicle or a trip to people without an account. */
export const shares: FleetRoutes = {
  open: [addPage, addSharedVehicle],
  token: [addCreation, addRevocation],
  viewer: [addList],
  operator: [addOperatorCreation, addOperatorRevocation],
};

const route = { tags: ['shares'] };
const created = answers(
  schemas.CreatedShare,
  ...(['UNKNOWN_VEHICLE', 'UNAUTHORIZED', 'VEHICLE_ARCHIVED', 'INVALID_INTERVAL', 'NOT_FOUND', 'TOO_MANY'] as const),
);
const revoked = answers(EmptyAnswer, 'UNAUTHORIZED', 'NOT_FOUND');

/** Creates and audits a share. The token is in the fragment of the URL, which browsers do not send. */
async function create(fleet: Fleet, caller: Caller, origin: AuditOrigin, request: ShareRequest) {
  const { body, protocol, host } = request;
  const token = createToken(fleet.config);
  return fleet.db.transaction().execute(async (trx) => {
    const id = await queries.createShare(trx, caller, body, token);
    await auditChange(trx, origin, 'share.create', `share:${id}`, { vehicleId: body.vehicleId });
    const address = fleet.config.PUBLIC_URL?.replace(/\/+$/, '') ?? `${protocol}://${host}`;
    return { id, url: `${address}/share#${token}` };
  });
}
type ShareRequest = Pick<FastifyRequest, 'protocol' | 'host'> & { readonly body: schemas.NewShare };

async function revoke({ db }: Fleet, caller: Caller, origin: AuditOrigin, id: string): Promise<object> {
  await db.transaction().execute(async (trx) => {
    await queries.revokeShare(trx, caller, id);
    await auditChange(trx, origin, 'share.revoke', `share:${id}`);
  });
  return {};
}

function addCreation(http: Http, fleet: Fleet): void {
  const schema = {
    ...route,
    summary: 'Create a link that shows a vehicle, or one of its trips, to people without an account',
    body: schemas.NewShare,
    response: created,
  };
  http.post('/v1/x/shares', { schema }, (request) => create(fleet, request.caller, originOf(request), request));
}

function addRevocation(http: Http, fleet: Fleet): void {
  const schema = { ...route, summary: 'Revoke a share', params: schemas.SharePath, response: revoked };
  http.delete('/v1/x/shares/:id', { schema }, (request) =>
    revoke(fleet, request.caller, originOf(request), request.params.id),
  );
}

function addOperatorCreation(http: Http, fleet: Fleet): void {
  const schema = {
    summary: 'Create a link that shows a vehicle to people without an account',
    body: schemas.NewShare,
    response: created,
  };
  http.post('/v1/x/admin/shares', { schema }, async (request) => {
    const { operator, body } = request;
    const applicationId = await findVehicleOwner(fleet.db, operator, body.vehicleId);
    const { name, apiKey } = operator;
    const creator = { ...(name !== undefined && { operatorName: name }), ...(apiKey && { apiKey }) };
    return create(fleet, { applicationId, ...creator }, operatorOrigin(request, applicationId), request);
  });
}

function addOperatorRevocation(http: Http, fleet: Fleet): void {
  const schema = { summary: 'Revoke a share', params: schemas.SharePath, response: revoked };
  http.delete('/v1/x/admin/shares/:id', { schema }, async (request) => {
    const { operator, params } = request;
    const applicationId = await queries.findShareOwner(fleet.db, operator, params.id);
    return revoke(fleet, { applicationId }, operatorOrigin(request, applicationId), params.id);
  });
}

function addList(http: Http, { db }: Fleet): void {
  const path = '/v1/x/shares';
  const schema = {
    ...route,
    summary: 'List shares, with the number of views of each',
    querystring: schemas.SharesQuery,
    response: answers(Type.Object({ shares: Type.Array(schemas.Share) })),
  };
  http.get(path, { schema }, async ({ viewer, query }, reply) => {
    const found = await queries.listShares(db, viewer, query, query.limit + 1);
    const { page, next } = nextPage(path, found, query.limit);
    const { vehicleId } = query;
    const more = next && { path, parameters: { ...next.parameters, ...(vehicleId !== undefined && { vehicleId }) } };
    return sendPage(reply, JSON.stringify({ shares: page }), more);
  });
}

/** Allows 25 open pages at one address, each of which polls every five seconds. */
const maxRequestsPerMinute = 300;
const maxAddresses = 10_000;

function addSharedVehicle(http: Http, fleet: Fleet): void {
  const { db } = fleet;
  const requests = new WindowCounter(60_000, maxAddresses);
  const schema = {
    ...route,
    summary: 'Get what a share shows: the position of its vehicle, and the trail since it was created',
    security: [],
    headers: schemas.ShareToken,
    querystring: schemas.SharedQuery,
    response: answers(schemas.SharedVehicle, 'NOT_FOUND'),
  };
  http.get('/v1/x/shared', { schema }, async ({ headers, query, ip }) => {
    const network = networkOf(ip);
    const now = performance.now();
    requests.add(network, now);
    if (requests.read(network, now) > maxRequestsPerMinute) throw tooManyRequests(requests.remainingMs(network, now));
    const token = headers['x-share-token'] ?? '';
    const share = await queries.findOpenShare(db, token);
    // The same answer for both, so that it does not reveal whether a link ever existed.
    if (share === undefined) throw new Failure('NOT_FOUND', 'the link is unknown or has ended');
    const shown = await showShare(db, share, query.after);
    const isFirst = await queries.countView(db, share.id, query.after === undefined);
    if (isFirst) {
      const origin = { chain: share.applicationId, actor: `share:${share.id}`, address: ip };
      await auditChange(db, origin, 'share.view', `share:${share.id}`);
    }
    const arrivalAt = await findArrival(fleet, share, shown);
    return arrivalAt === undefined ? shown : { ...shown, arrivalAt };
  });
}

/** Serves the page of shares. It is the same for all, because browsers do not send the fragment of the URL. */
function addPage(http: Http): void {
  const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');
  const serve = (path: string, type: string, content: string) =>
    http.get(path, { schema: { hide: true } }, async (_request, reply) =>
      reply
        .headers({ 'content-security-policy': pagePolicy, 'cache-control': 'no-cache' })
        .type(`${type}; charset=utf-8`)
        .send(content),
    );
  serve('/share', 'text/html', read('page.html').replace('<style>', `<style>${pageStyle}`));
  serve('/share.js', 'text/javascript', `const texts = ${read('texts.json').trim()};\n${read('page.js')}`);
}
