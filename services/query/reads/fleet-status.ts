import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Addresses, Position } from '@odograph/database/addresses';
import type { Database } from '@odograph/database/database';
import { privacyIsOn } from '@odograph/database/reading-json';
import { visibleTo } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { sendJson } from '@odograph/http/paging';
import { answers, VehicleId } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { VehicleParameters, VehicleStatus, view } from '../shared/schemas.ts';
import {
  CombinedStatus,
  FleetStatus,
  findFleetFacts,
  findLatestReading,
  findPosition,
  findVehicleId,
  findVehicleIdByPlate,
  fleetState,
  fleetStatus,
  PositionAnswer,
  positionAnswer,
} from './fleet-facts.ts';
import { chooseView, findConfiguredView, type View } from './latest.ts';

const noFleetStatus = 'COMMUNICATION_FAILED when no device is linked to the vehicle, or it never reported.';
const privatePosition = 'POSITION_UNKNOWN also while location privacy is on.';

const VehicleQuery = Type.Object({
  vehicleId: Type.Optional(VehicleId),
  plate: Type.Optional(
    Type.String({
      maxLength: 256,
      pattern: '^[^\\u0000]*$',
      description: 'license plate, instead of vehicleId',
      examples: ['AB-123-CD'],
    }),
  ),
});

async function findByQuery(db: Database, caller: Caller, query: Static<typeof VehicleQuery>): Promise<number> {
  const { vehicleId, plate } = query;
  if (vehicleId !== undefined && plate !== undefined) {
    throw invalidParameter('plate', 'and vehicleId must not both be given');
  }
  if (vehicleId !== undefined) return findVehicleId(db, caller, vehicleId);
  if (plate !== undefined) return findVehicleIdByPlate(db, caller, plate);
  throw invalidParameter('vehicleId', 'or plate is missing');
}

async function writeFleet(db: Database, caller: Caller, vehicleId: number): Promise<string> {
  const facts = await findFleetFacts(db, caller, vehicleId);
  if (!facts) throw new Failure('COMMUNICATION_FAILED', 'no device is linked to the vehicle, or it never reported');
  return JSON.stringify(fleetStatus(facts));
}

async function writeDynamic(db: Database, _caller: Caller, vehicleId: number): Promise<string> {
  const latest = await findLatestReading(db, vehicleId);
  if (!latest) throw new Failure('NO_DATA');
  return `{${latest.members},"state":${JSON.stringify(latest.state)}}`;
}

/** Without a linked device the latest reading stays readable, and the fleet keys are left out. */
async function writeCombined(db: Database, caller: Caller, vehicleId: number): Promise<string> {
  const latest = await findLatestReading(db, vehicleId);
  if (!latest) throw new Failure('COMMUNICATION_FAILED', 'the vehicle never reported');
  const facts = await findFleetFacts(db, caller, vehicleId);
  const state = { ...latest.state, ...fleetState(latest.state) };
  const own = JSON.stringify({ ...(facts && fleetStatus(facts)), state });
  return `{${latest.members},${own.slice(1)}`;
}

/** Writes the latest status of a vehicle as JSON text, in each shape of GET /v1/vehicle/{id}/status. */
const writeStatus: Readonly<Record<View, (db: Database, caller: Caller, vehicleId: number) => Promise<string>>> = {
  dynamic: writeDynamic,
  fleet: writeFleet,
  combined: writeCombined,
};

/** Interface specification, "Vehicle data (fleet flavor)": status and position, and the shared path of the status. */
export function fleetStatusRoutes(db: Database, addresses: Addresses): RoutePlugin {
  return (http) => {
    addStatusRoutes(http, db, addresses);
    addPositionRoutes(http, db);
  };
}

function addStatusRoutes(http: Http, db: Database, addresses: Addresses): void {
  http.get(
    '/v1/vehicle/status',
    {
      schema: {
        tags: ['fleet status'],
        summary: 'Fleet status of one vehicle, by its id or its plate',
        description: noFleetStatus,
        querystring: VehicleQuery,
        exactlyOne: ['vehicleId', 'plate'],
        response: answers(FleetStatus, 'UNKNOWN_VEHICLE', 'COMMUNICATION_FAILED'),
      },
    },
    async ({ caller, query }, reply) =>
      sendJson(reply, await writeStatus.fleet(db, caller, await findByQuery(db, caller, query))),
  );

  http.get(
    '/v1/vehicle/:id/status',
    {
      schema: {
        tags: ['fleet status', 'latest'],
        summary: 'Latest status of one vehicle, in the dynamic shape, the fleet shape, or both at once',
        description: `Dynamic shape: NO_DATA when the vehicle never reported. Fleet shape: ${noFleetStatus}
          Both at once: COMMUNICATION_FAILED when the vehicle never reported; when it did, but no device is linked to it
          now, or one that never reported, the fleet keys are left out.`.replace(/\s+/g, ' '),
        params: VehicleParameters,
        querystring: Type.Object({
          view,
          address: Type.Optional(Type.Boolean({ description: 'adds the known address to location and position' })),
        }),
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
      const text = await writeStatus[shape](db, caller, vehicleId);
      if (!query.address) return sendJson(reply, text);
      const status = JSON.parse(text) as Partial<Record<'location' | 'position', Position>>;
      await addresses.addTo(db, [
        [vehicleId, status.location],
        [vehicleId, status.position],
      ]);
      return sendJson(reply, JSON.stringify(status));
    },
  );
}

function addPositionRoutes(http: Http, db: Database): void {
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
        exactlyOne: ['vehicleId', 'plate'],
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

const FleetArea = Type.Object(
  {
    bbox: Type.Optional(
      Type.String({
        description: 'west,south,east,north in decimal degrees; absent when no vehicle has a position',
        examples: ['2.2,48.8,2.5,48.95'],
      }),
    ),
  },
  { title: 'FleetArea' },
);

const marginShare = 0.1;
const minMarginDegrees = 0.2;

interface Extent {
  readonly west: number | null;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Formats an extent with a margin, rounded to 0.01 degrees. */
function writeArea({ west, south, east, north }: Extent & { readonly west: number }): string {
  const marginOf = (size: number) => Math.max(size * marginShare, minMarginDegrees);
  const [dx, dy] = [marginOf(east - west), marginOf(north - south)];
  const area = [
    Math.max(-180, west - dx),
    Math.max(-85, south - dy),
    Math.min(180, east + dx),
    Math.min(85, north + dy),
  ];
  return area.map((degrees) => Math.round(degrees * 100) / 100).join(',');
}

/** An addition to the interface: the area of the latest positions, which a map of the fleet must cover. */
export function fleetAreaRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicles/area',
      {
        schema: {
          tags: ['latest'],
          summary: 'The area of the latest positions with a margin, without private vehicles',
          response: answers(FleetArea),
        },
      },
      async ({ viewer }) => {
        // Receivers without a fix report 0,0: one such vehicle would stretch the area across continents.
        const { rows } = await sql<Extent>`
          select min(longitude) as west, min(latitude) as south, max(longitude) as east, max(latitude) as north
          from (select (vehicle_latest.location->>'longitude')::double precision as longitude,
              (vehicle_latest.location->>'latitude')::double precision as latitude
            from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
            where ${visibleTo(viewer)} and vehicle.archived_at is null and not ${sql.raw(privacyIsOn)}) as located
          where longitude is not null and latitude is not null and not (longitude = 0 and latitude = 0)`.execute(db);
        const [extent] = rows;
        if (extent === undefined || extent.west === null) return {};
        return { bbox: writeArea({ ...extent, west: extent.west }) };
      },
    );
  };
}
