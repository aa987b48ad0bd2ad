import type { Caller } from '@odograph/contracts/caller';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { requestContext } from '@odograph/http/request-context';
import { answers, EmptyAnswer, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import type { AccessOptions } from '../access-options.ts';
import { type ListFilter, listAuthorizations } from '../authorizations/queries.ts';
import { categories } from '../authorizations/rules.ts';
import { route as authorizationRoute, DriverId } from '../authorizations/schemas.ts';
import { listDriverVehicles } from './queries.ts';
import { type RevocationOptions, revokeDriver } from './revoke-driver.ts';

const driverRoute = { tags: ['drivers'] };
const longestPage = 1000;
const Page = Type.Object({
  offset: Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0, description: 'authorizations to skip' }),
  limit: Type.Integer({ minimum: 0, default: 100, description: `authorizations to return, at most ${longestPage}` }),
});
type Page = Type.Static<typeof Page>;
const DriverPath = Type.Object({ userid: DriverId });
const Authorization = Type.Object({ authorizationId: Type.String(), from: Type.String(), until: Type.String() });
const List = Type.Object({ authorizations: Type.Array(Authorization) });
/** Interface specification, "Driver vehicle record". */
const DriverVehicle = Type.Object({
  Id: Type.String(),
  Builder: Type.String(),
  Model: Type.String(),
  Plate: Type.String(),
  deviceId: Type.String(),
  deviceModel: Type.String(),
  Archived: Type.Boolean(),
  authorizations: Type.Array(Authorization, { description: 'the unexpired ones' }),
});

/** Reads a page of authorizations by their start. @returns it as JSON, and the position of the next one */
async function readPage(
  { db, clock }: AccessOptions,
  caller: Caller,
  { path, ...filter }: ListFilter & { path: string },
  page: Page,
): Promise<[body: string, next: NextPage | undefined]> {
  const { offset } = page;
  const limit = Math.min(page.limit, longestPage);
  const found = await listAuthorizations(db, caller, filter, { now: clock(), offset, limit });
  const authorizations = found.slice(0, limit).map(({ id, from, until }) => ({ authorizationId: id, from, until }));
  const parameters = { offset: String(offset + limit), limit: String(limit) };
  const next = found.length > limit && limit > 0 ? { path, parameters } : undefined;
  return [JSON.stringify({ authorizations }), next];
}

function addVehicleLists(http: Http, options: AccessOptions): void {
  for (const category of categories) {
    http.get(
      `/v1/vehicles/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of all vehicles`,
          querystring: Page,
          response: answers(List),
        },
      },
      async ({ caller, query }, reply) => {
        const path = `/v1/vehicles/authorizations/${category}`;
        return sendPage(reply, ...(await readPage(options, caller, { path, category }, query)));
      },
    );

    http.get(
      `/v1/vehicle/:id/authorizations/${category}`,
      {
        schema: {
          ...authorizationRoute,
          summary: `The ${category} authorizations of a vehicle`,
          params: Type.Object({ id: VehicleId }),
          querystring: Page,
          response: answers(List, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, params, query }, reply) => {
        const { id: vehicleId } = await findVehicle(options.db, caller, params.id);
        const path = `/v1/vehicle/${vehicleId}/authorizations/${category}`;
        return sendPage(reply, ...(await readPage(options, caller, { path, category, vehicleId }, query)));
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
          querystring: Page,
          response: answers(List),
        },
      },
      async ({ caller, params: { userid: driverId }, query }, reply) => {
        const path = `/v1/user/${encodeURIComponent(driverId)}/authorizations/${category}`;
        return sendPage(reply, ...(await readPage(options, caller, { path, category, driverId }, query)));
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
    addVehicleLists(http, options);
    addDriverLists(http, options);
    addDriver(http, options);
  };
}
