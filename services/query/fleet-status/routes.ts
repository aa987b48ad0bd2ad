import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Http } from '@odograph/http/http';
import { sendJson } from '@odograph/http/paging';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type, { type Static } from 'typebox';
import { findConfiguredView } from '../latest/queries.ts';
import { chooseView } from '../latest/rules.ts';
import { VehicleParameters, VehicleStatus, view } from '../schemas.ts';
import { writeStatus } from './answers.ts';
import { findPosition, findVehicleId, findVehicleIdByPlate } from './queries.ts';
import { positionAnswer } from './rules.ts';
import { CombinedStatus, FleetStatus, PositionAnswer } from './schemas.ts';

const noFleetStatus = 'COMMUNICATION_FAILED when no device sits in the vehicle, or one that never reported.';
const privatePosition = 'POSITION_UNKNOWN also while location privacy is on.';

const VehicleQuery = Type.Object({
  vehicleId: Type.Optional(Type.String({ minLength: 1, description: 'vehicle identifier' })),
  plate: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\u0000]*$', description: 'license plate, in its place' }),
  ),
});

async function findByQuery(db: Database, caller: Caller, query: Static<typeof VehicleQuery>): Promise<number> {
  const { vehicleId, plate } = query;
  if (vehicleId !== undefined && plate !== undefined) {
    throw invalidParameter('plate', 'and vehicleId cannot both be given');
  }
  if (vehicleId !== undefined) return findVehicleId(db, caller, vehicleId);
  if (plate !== undefined) return findVehicleIdByPlate(db, caller, plate);
  throw invalidParameter('vehicleId', 'or plate is missing');
}

/** Interface specification, "Vehicle data (fleet flavor)": status and position, and the shared path of the status. */
export function addFleetStatusRoutes(http: Http, db: Kysely<Tables>): void {
  addStatusRoutes(http, db);
  addPositionRoutes(http, db);
}

function addStatusRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/vehicle/status',
    {
      schema: {
        tags: ['fleet status'],
        summary: 'Fleet status of one vehicle, by its id or its plate',
        description: noFleetStatus,
        querystring: VehicleQuery,
        response: answers(FleetStatus, 'UNKNOWN_VEHICLE', 'COMMUNICATION_FAILED'),
      },
    },
    async ({ caller, query }, reply) =>
      sendJson(reply, await writeStatus.fleet(db, await findByQuery(db, caller, query))),
  );

  http.get(
    '/v1/vehicle/:id/status',
    {
      schema: {
        tags: ['fleet status', 'latest'],
        summary: 'Latest status of one vehicle, in the dynamic shape, the fleet shape, or both at once',
        description: `Dynamic shape: NO_DATA when the vehicle never reported. Fleet shape: ${noFleetStatus}
          Both at once: COMMUNICATION_FAILED when the vehicle never reported; when it did, but no device sits in it now, or
          one that never reported, the fleet keys are left out.`.replace(/\s+/g, ' '),
        params: VehicleParameters,
        querystring: Type.Object({ view }),
        response: answers(
          Type.Union([CombinedStatus, VehicleStatus, FleetStatus]),
          'UNKNOWN_VEHICLE',
          'NO_DATA',
          'COMMUNICATION_FAILED',
        ),
      },
    },
    async ({ caller, params, query }, reply) => {
      const vehicleId = await findVehicleId(db, caller, params.id);
      const shape = chooseView(query.view, undefined, await findConfiguredView(db, caller));
      return sendJson(reply, await writeStatus[shape](db, vehicleId));
    },
  );
}

function addPositionRoutes(http: Http, db: Kysely<Tables>): void {
  const answerPosition = async (vehicleId: number): Promise<Static<typeof PositionAnswer>> => {
    const position = await findPosition(db, vehicleId);
    if (!position) throw new Failure('POSITION_UNKNOWN');
    return { Position: positionAnswer(position) };
  };
  const schema = {
    tags: ['fleet status'],
    description: privatePosition,
    response: answers(PositionAnswer, 'UNKNOWN_VEHICLE', 'POSITION_UNKNOWN'),
  };

  http.get(
    '/v1/vehicle/position',
    {
      schema: {
        ...schema,
        summary: 'Last known position of one vehicle, by its id or its plate',
        querystring: VehicleQuery,
      },
    },
    async ({ caller, query }) => answerPosition(await findByQuery(db, caller, query)),
  );

  http.get(
    '/v1/vehicle/:id/position',
    { schema: { ...schema, summary: 'Last known position of one vehicle', params: VehicleParameters } },
    async ({ caller, params }) => answerPosition(await findVehicleId(db, caller, params.id)),
  );
}
