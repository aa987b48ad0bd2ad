import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, word } from '@odograph/http/schemas';
import Type from 'typebox';
import { VehicleParameters } from '../schemas.ts';
import { listGaps } from './queries.ts';

const states = ['OPEN', 'ARRIVED', 'RESTARTED', 'GIVEN_UP'] as const;
const Gap = Type.Object(
  {
    deviceId: Type.String({ examples: ['unit-0001'] }),
    fromSequence: Type.Integer({ description: 'first missing sequence number' }),
    untilSequence: Type.Integer({ description: 'last missing sequence number' }),
    missing: Type.Integer({ description: 'number of readings' }),
    state: word(states, {
      description:
        'OPEN: missing; ARRIVED: they arrived; RESTARTED: the device restarted its sequence first; GIVEN_UP: the device has too many newer gaps',
    }),
    since: moment('when the gap was noticed'),
    closedAt: Type.Optional(moment('when it was closed; closed gaps only')),
  },
  { title: 'Gap' },
);
const GapsQuery = Type.Object({
  days: Type.Integer({
    minimum: 0,
    maximum: 30,
    default: 7,
    description: 'days for which closed gaps are listed, too',
  }),
});

/** Missing readings by their sequence numbers (docs/device-protocol.md, "Missing readings"). */
export function gapRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/gaps',
      {
        schema: {
          tags: ['history'],
          summary: 'Missing readings of a vehicle, and gaps that were closed recently',
          params: VehicleParameters,
          querystring: GapsQuery,
          response: answers(Type.Object({ gaps: Type.Array(Gap) }), 'UNKNOWN_VEHICLE'),
        },
      },
      async ({ caller, params, query }) => {
        const vehicle = await findVehicle(db, caller, params.id);
        return { gaps: await listGaps(db, vehicle.id, query.days) };
      },
    );
  };
}
