import type { Database } from '@odograph/database/database';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendJson } from '@odograph/http/paging';
import { answers as responses } from '@odograph/http/schemas';
import Type from 'typebox';
import type { Answers } from '../answers.ts';
import { readerOf } from '../read-budget.ts';
import { CombinedVehicle, DynamicVehicle, FleetVehicle, VehicleStatus, view } from '../schemas.ts';
import { findConfiguredView, listStatus, listVehicles } from './queries.ts';
import { chooseView, matchesSearch, SearchQuery } from './rules.ts';

const Vehicles = Type.Union([Type.Array(CombinedVehicle), Type.Array(DynamicVehicle), Type.Array(FleetVehicle)]);
const ViewQuery = Type.Object({ view, ...SearchQuery.properties });

/** Interface specification, "Dynamic data": the latest state of vehicles. */
export function latestRoutes(answers: Answers): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/vehicles',
      {
        schema: {
          tags: ['latest'],
          summary: 'All vehicles with their latest position, or those that can be booked',
          querystring: ViewQuery,
          response: responses(Vehicles, 'INVALID_INTERVAL'),
        },
      },
      async (request, reply) => {
        const { caller, query } = request;
        const filter = matchesSearch(query);
        const body = await answers.openList(readerOf(request), async (db: Database, lastId) => {
          const shape = chooseView(query.view, query.searchType, await findConfiguredView(db, caller));
          return listVehicles(shape, caller, filter, lastId);
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
          response: responses(Type.Array(VehicleStatus)),
        },
      },
      async (request, reply) => {
        const { caller } = request;
        return sendJson(reply, await answers.openList(readerOf(request), (_db, lastId) => listStatus(caller, lastId)));
      },
    );
  };
}
