import type { Caller } from '@odograph/contracts/caller';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { answers, VehicleId } from '@odograph/http/schemas';
import Type from 'typebox';
import { type ListFilter, listAuthorizations } from '../authorizations/queries.ts';
import { categories } from '../authorizations/rules.ts';
import { DriverId, route } from '../authorizations/schemas.ts';
import type { Keyless } from '../device-keys/keyless.ts';

const longestPage = 1000;
const Page = Type.Object({
  offset: Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0, description: 'authorizations to skip' }),
  limit: Type.Integer({ minimum: 0, default: 100, description: `authorizations to return, at most ${longestPage}` }),
});
type Page = Type.Static<typeof Page>;
const Listed = Type.Object({
  authorizations: Type.Array(
    Type.Object({
      authorizationId: Type.String(),
      from: Type.String({ format: 'date-time' }),
      until: Type.String({ format: 'date-time' }),
    }),
  ),
});

/** A page of a list by the start of the authorizations, as JSON, and where the next one is. */
async function readPage(
  { db, clock }: Keyless,
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

/** The lists of all vehicles and of one vehicle (interface specification, "Driver data and authorization lists"). */
export function addVehicleLists(http: Http, keyless: Keyless): void {
  for (const category of categories) {
    http.get(
      `/v1/vehicles/authorizations/${category}`,
      {
        schema: {
          ...route,
          summary: `The ${category} authorizations of all vehicles`,
          querystring: Page,
          response: answers(Listed),
        },
      },
      async ({ caller, query }, reply) => {
        const path = `/v1/vehicles/authorizations/${category}`;
        return sendPage(reply, ...(await readPage(keyless, caller, { path, category }, query)));
      },
    );

    http.get(
      `/v1/vehicle/:id/authorizations/${category}`,
      {
        schema: {
          ...route,
          summary: `The ${category} authorizations of a vehicle`,
          params: Type.Object({ id: VehicleId }),
          querystring: Page,
          response: answers(Listed, 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, params, query }, reply) => {
        const { id: vehicleId } = await findVehicle(keyless.db, caller, params.id);
        const path = `/v1/vehicle/${vehicleId}/authorizations/${category}`;
        return sendPage(reply, ...(await readPage(keyless, caller, { path, category, vehicleId }, query)));
      },
    );
  }
}

/** The lists of one driver. */
export function addDriverLists(http: Http, keyless: Keyless): void {
  for (const category of ['scheduled', 'expired'] as const) {
    http.get(
      `/v1/user/:userid/authorizations/${category}`,
      {
        schema: {
          ...route,
          summary: `The ${category} authorizations of a driver`,
          params: Type.Object({ userid: DriverId }),
          querystring: Page,
          response: answers(Listed),
        },
      },
      async ({ caller, params: { userid: driverId }, query }, reply) => {
        const path = `/v1/user/${encodeURIComponent(driverId)}/authorizations/${category}`;
        return sendPage(reply, ...(await readPage(keyless, caller, { path, category, driverId }, query)));
      },
    );
  }
}
