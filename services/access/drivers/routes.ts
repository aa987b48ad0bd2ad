import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { auditChange, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type Http, type RequestContext, requestContext } from '@odograph/http/http';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, EmptyAnswer, moment, pageHeaders, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { type AccessOptions, changeAccess } from '../access-options.ts';
import { type ListedAuthorization, type ListFilter, listAuthorizations } from '../authorizations/queries.ts';
import { AuthorizationId, route as authorizationRoute, categories, DriverId } from '../authorizations/rules.ts';
import { ListPage, sendList } from '../list-stream.ts';
import * as queries from './queries.ts';

const driverRoute = { tags: ['drivers'] };
const Page = ListPage('authorizations');
const DriverPath = Type.Object({ userid: DriverId });
const Authorization = Type.Object(
  { authorizationId: AuthorizationId, from: moment('start, inclusive'), until: moment('end, exclusive') },
  { title: 'ListedAuthorization' },
);
const List = Type.Object({ authorizations: Type.Array(Authorization) }, { title: 'Authorizations' });
/** Interface specification, "Driver vehicle record". */
const DriverVehicle = Type.Object(
  {
    Id: VehicleId,
    Builder: Type.String({ examples: ['Renault'] }),
    Model: Type.String({ examples: ['Zoe'] }),
    Plate: Type.String({ examples: ['AB-123-CD'] }),
    deviceId: Type.String({ examples: ['unit-0001'] }),
    deviceModel: Type.String({ examples: ['generic'] }),
    Archived: Type.Boolean(),
    authorizations: Type.Array(Authorization, { description: 'the unexpired ones' }),
  },
  { title: 'DriverVehicle' },
);

const pollMs = 100;

export interface RevocationOptions extends AccessOptions {
  /** How long to wait for devices to confirm their key lists. */
  readonly ackTimeoutMs: number;
  /** Whether the device has a live session; throws while that is unknown. */
  isConnected(deviceId: string): Promise<boolean>;
}

function notAll(devices: readonly queries.UnconfirmedDevice[], reason: string): Failure {
  const message = `${devices.length} devices have not confirmed the revocation; they receive it once they are connected`;
  return new Failure('NOT_ALL_AUTHORIZATIONS_REVOKED', message, { reason });
}

async function awaitConfirmations(
  db: Database,
  { ackTimeoutMs, isConnected }: RevocationOptions,
  devices: readonly queries.UnconfirmedDevice[],
): Promise<void> {
  const endMs = performance.now() + ackTimeoutMs;
  let waiting = devices;
  if (waiting.length === 0) return;
  const connected = await Promise.all(waiting.map(({ deviceId }) => isConnected(deviceId).catch(() => true)));
  if (connected.includes(false)) throw notAll(waiting, 'DEVICE_OFFLINE');
  for (;;) {
    waiting = await queries.filterUnconfirmed(db, waiting);
    if (waiting.length === 0) return;
    if (performance.now() >= endMs) throw notAll(waiting, 'NO_ACKNOWLEDGEMENT');
    await delay(pollMs);
  }
}

/**
 * Revokes all authorizations of a driver that the caller may see, and waits until their devices have confirmed it.
 * @throws Failure NOT_ALL_AUTHORIZATIONS_REVOKED after `ackTimeoutMs`; at once when a device has no session
 */
async function revokeDriver(
  options: RevocationOptions,
  { caller, address: ip, now }: RequestContext,
  driverId: string,
): Promise<void> {
  const { db } = options;
  await changeAccess(options, async (trx) => {
    const authorizations = await queries.revokeAuthorizations(trx, caller, driverId, now);
    await auditChange(trx, originOf({ caller, ip }), 'driver.delete', `driver:${driverId}`, { authorizations });
  });
  await awaitConfirmations(db, options, await queries.findUnconfirmed(db, caller, driverId, now));
}

type Reply = Parameters<typeof sendList>[0];

function sendAuthorizations(
  { db, clock }: AccessOptions,
  reply: Reply,
  caller: Caller,
  { path, ...filter }: ListFilter & { path: string },
  page: ListPage,
): Promise<Reply> {
  const now = clock();
  return sendList<ListedAuthorization>(reply, page, {
    ...{ name: 'authorizations', path },
    describe: ({ id, from, until }) => ({ authorizationId: id, from, until }),
    read: (part) => listAuthorizations(db, caller, filter, { now, ...part }),
  });
}

function addVehicleLists(http: Http, options: AccessOptions): void {
  for (const category of categories) {
    http.get(
      `/v1/vehicles/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of all vehicles`,
          answerHeaders: pageHeaders,
          querystring: Page,
          response: answers(List),
        },
      },
      async ({ caller, query }, reply) => {
        const path = `/v1/vehicles/authorizations/${category}`;
        return sendAuthorizations(options, reply, caller, { path, category }, query);
      },
    );

    http.get(
      `/v1/vehicle/:id/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of a vehicle`,
          params: Type.Object({ id: VehicleId }),
          answerHeaders: pageHeaders,
          querystring: Page,
          response: answers(List, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, params, query }, reply) => {
        const { id: vehicleId } = await findVehicle(options.db, caller, params.id);
        const path = `/v1/vehicle/${vehicleId}/authorizations/${category}`;
        return sendAuthorizations(options, reply, caller, { path, category, vehicleId }, query);
      },
    );
  }
}

function addDriverLists(http: Http, options: AccessOptions): void {
  for (const category of ['scheduled', 'expired'] as const) {
    http.get(
      `/v1/user/:userid/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of a driver`,
          params: DriverPath,
          answerHeaders: pageHeaders,
          querystring: Page,
          response: answers(List),
        },
      },
      async ({ caller, params: { userid: driverId }, query }, reply) => {
        const path = `/v1/user/${encodeURIComponent(driverId)}/authorizations/${category}`;
        return sendAuthorizations(options, reply, caller, { path, category, driverId }, query);
      },
    );
  }
}

function addDriver(http: Http, options: RevocationOptions): void {
  http.get(
    '/v1/user/:userid/vehicles',
    {
      schema: {
        ...driverRoute,
        summary: 'The vehicles of the current and scheduled authorizations of a driver',
        params: DriverPath,
        response: answers(Type.Array(DriverVehicle)),
      },
    },
    async ({ caller, params }) => queries.listDriverVehicles(options.db, caller, params.userid, options.clock()),
  );

  http.delete(
    '/v1/user/:userid',
    {
      schema: {
        ...driverRoute,
        summary: 'Revoke all authorizations of a driver, and wait until the devices have confirmed it',
        params: DriverPath,
        response: answers(EmptyAnswer, 'NOT_ALL_AUTHORIZATIONS_REVOKED', 'UNAUTHORIZED'),
      },
    },
    async (request) => {
      await revokeDriver(options, requestContext(request, options.clock), request.params.userid);
      return {};
    },
  );
}

/** The routes of the interface specification, "Driver data and authorization lists". */
export function driverRoutes(options: RevocationOptions): RoutePlugin {
  return (http) => {
    http.addHook('preValidation', leaveOutEmpty());
    addVehicleLists(http, options);
    addDriverLists(http, options);
    addDriver(http, options);
  };
}
