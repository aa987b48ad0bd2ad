import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { sendJson } from '@odograph/http/paging';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { listFrame, streamJson } from '../json-stream.ts';
import { CombinedVehicle, DynamicVehicle, FleetVehicle, VehicleStatus, view } from '../schemas.ts';
import { withSnapshot } from '../snapshot.ts';
import { findConfiguredView, listStatus, listVehicles } from './queries.ts';
import { chooseView } from './rules.ts';
import { isLookedFor, SearchQuery } from './search.ts';

const Vehicles = Type.Union([Type.Array(CombinedVehicle), Type.Array(DynamicVehicle), Type.Array(FleetVehicle)]);
const ViewQuery = Type.Object({
  view,
  ...SearchQuery.properties,
});

/** Interface specification, "Dynamic data": the latest state of vehicles. */
export function addLatestRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/vehicles',
    {
      schema: {
        tags: ['latest'],
        summary: 'All vehicles with their latest position, or those that can be booked',
        querystring: ViewQuery,
        response: answers(Vehicles, 'INVALID_INTERVAL'),
      },
    },
    async ({ caller, query }, reply) => {
      const filter = isLookedFor(query);
      const body = await withSnapshot(db, async (snapshot) => {
        const shape = chooseView(query.view, query.searchType, await findConfiguredView(snapshot.db, caller));
        return streamJson(snapshot, listVehicles[shape](caller, filter), listFrame, (row) => row.json);
      });
      return sendJson(reply, body);
    },
  );

  http.get(
    '/v1/vehicles/status',
    {
      schema: {
        tags: ['latest'],
        summary: 'Latest status of all vehicles that have data',
        response: answers(Type.Array(VehicleStatus)),
      },
    },
    async ({ caller }, reply) => {
      const body = await withSnapshot(db, (snapshot) =>
        streamJson(snapshot, listStatus(caller), listFrame, (row) => row.json),
      );
      return sendJson(reply, body);
    },
  );
}
