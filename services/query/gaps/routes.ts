import type { Database } from '@odograph/database/database';
import { findVehicle, findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp, word } from '@odograph/http/schemas';
import Type from 'typebox';
import { VehicleParameters } from '../schemas.ts';
import { parseInterval } from '../series/rules.ts';
import { listBreaks, listGaps } from './queries.ts';

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

const Break = Type.Object(
  {
    kind: word(['PRIVACY', 'GAP'], { description: 'PRIVACY: positions were not stored; GAP: readings are missing' }),
    from: moment('start; of a gap, device time of the last reading before it'),
    until: Type.Optional(
      moment('end; of a gap, device time of the first reading after it; left out while privacy is on'),
    ),
    missing: Type.Optional(Type.Integer({ description: 'number of readings; gaps only', examples: [12] })),
  },
  { title: 'Break' },
);
const BreaksQuery = Type.Object({
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive; at most 366 days after the start'),
});

/** An addition to the interface: intervals that a chart of a vehicle marks. */
export function breakRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/breaks',
      {
        schema: {
          tags: ['history'],
          summary: 'Intervals of location privacy, and of missing readings that did not arrive later',
          description: 'Gaps that closed more than 30 days ago are not known any more.',
          params: VehicleParameters,
          querystring: BreaksQuery,
          response: answers(Type.Object({ breaks: Type.Array(Break) }), 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL'),
        },
      },
      async ({ viewer, params, query }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        return { breaks: await listBreaks(db, vehicleId, parseInterval(query, 366)) };
      },
    );
  };
}
