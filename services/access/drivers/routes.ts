import type { Caller } from '@odograph/contracts/caller';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type Http, requestContext } from '@odograph/http/http';
import { sendPage } from '@odograph/http/paging';
import { leaveOutEmpty } from '@odograph/http/parameters';
import { answers, EmptyAnswer, moment, pageHeaders, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { AccessOptions } from '../access-options.ts';
import { type ListedAuthorization, type ListFilter, listAuthorizations } from '../authorizations/queries.ts';
import { categories } from '../authorizations/rules.ts';
import { AuthorizationId, route as authorizationRoute, DriverId } from '../authorizations/schemas.ts';
import { streamList } from '../list-stream.ts';
import { listDriverVehicles } from './queries.ts';
import { type RevocationOptions, revokeDriver } from './revoke-driver.ts';

const driverRoute = { tags: ['drivers'] };
const largest = 2_147_483_647;
const Page = Type.Object({
  offset: Type.Integer({ minimum: 0, maximum: largest, default: 0, description: 'authorizations to skip' }),
  limit: Type.Optional(
    Type.Integer({ minimum: 0, maximum: largest, description: 'authorizations to return; all by default' }),
  ),
});
type Page = Type.Static<typeof Page>;
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

type Reply = Parameters<typeof sendPage>[0];

/** Sends a list of authorizations by their start: all of them, or a page with a link to the next one. */
async function sendList(
  { db, clock }: AccessOptions,
  reply: Reply,
  caller: Caller,
  { path, ...filter }: ListFilter & { path: string },
  { offset, limit }: Page,
): Promise<Reply> {
  const now = clock();
  const read = (after: ListedAuthorization | undefined, count: number) =>
    listAuthorizations(db, caller, filter, { now, offset, after, count });
  const describe = ({ id, from, until }: ListedAuthorization) => ({ authorizationId: id, from, until });
  const body = await streamList('authorizations', describe, read, limit);
  if (limit === undefined || limit === 0) return sendPage(reply, body, undefined);
  const nextOffset = offset + limit;
  const following = await listAuthorizations(db, caller, filter, { now, offset: nextOffset, count: 1 });
  const parameters = { offset: String(nextOffset), limit: String(limit) };
  return sendPage(reply, body, following.length > 0 ? { path, parameters } : undefined);
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
        return sendList(options, reply, caller, { path, category }, query);
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
        return sendList(options, reply, caller, { path, category, vehicleId }, query);
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
        return sendList(options, reply, caller, { path, category, driverId }, query);
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
    async ({ caller, params }) => listDriverVehicles(options.db, caller, params.userid, options.clock()),
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
