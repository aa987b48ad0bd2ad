import { parseOptionalTimestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers } from '@odograph/http/schemas';
import Type from 'typebox';
import { VehicleParameters } from '../schemas.ts';
import { listLinks, readLatestGroups, readNewest } from './queries.ts';
import { valuesOf } from './rules.ts';
import { LatestValue, RecordedReading, RecordsQuery, VehicleLink } from './schemas.ts';

/** Additions to the interface: what the platform has of a vehicle, value by value, reading by reading, and from which device. */
export function recordRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/values',
      {
        schema: {
          tags: ['latest'],
          summary: 'Every latest value of a vehicle with its time and unit',
          params: VehicleParameters,
          response: answers(Type.Object({ values: Type.Array(LatestValue) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params }) => {
        const groups = await readLatestGroups(db, await findVisibleVehicle(db, viewer, params.id));
        return { values: groups.flatMap(valuesOf) };
      },
    );

    http.get(
      '/v1/x/vehicle/:id/readings',
      {
        schema: {
          tags: ['history'],
          summary: 'The newest readings of a vehicle as they are stored, with device, sequence and time of receipt',
          params: VehicleParameters,
          querystring: RecordsQuery,
          response: answers(Type.Object({ readings: Type.Array(RecordedReading) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params, query: { limit, before } }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        return { readings: await readNewest(db, vehicleId, parseOptionalTimestamp('before', before), limit) };
      },
    );

    http.get(
      '/v1/x/vehicle/:id/links',
      {
        schema: {
          tags: ['vehicles and devices'],
          summary: 'The devices that are or were linked to a vehicle, the newest link first',
          params: VehicleParameters,
          response: answers(Type.Object({ links: Type.Array(VehicleLink) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ viewer, params }) => ({ links: await listLinks(db, await findVisibleVehicle(db, viewer, params.id)) }),
    );
  };
}
