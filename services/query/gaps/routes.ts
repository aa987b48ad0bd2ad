import type { Tables } from '@odograph/database/tables';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers } from '@odograph/http/schemas';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import { VehicleParameters } from '../schemas.ts';
import { listGaps } from './queries.ts';

const states = ['OPEN', 'ARRIVED', 'RESTARTED', 'GIVEN_UP'] as const;
const Gap = Type.Object({
  deviceId: Type.String(),
  fromSequence: Type.Integer({ description: 'the first sequence that is missing' }),
  untilSequence: Type.Integer({ description: 'the last one' }),
  missing: Type.Integer({ description: 'how many readings' }),
  state: Type.Enum([...states], {
    description:
      'OPEN: missing; ARRIVED: no longer; RESTARTED: the device began to count anew before they came; GIVEN_UP: the device has too many newer gaps',
  }),
  since: Type.String({ description: 'when the gap was noticed, ISO 8601' }),
  closedAt: Type.Optional(Type.String({ description: 'when it was closed, ISO 8601; only of closed gaps' })),
});
const GapsQuery = Type.Object({
  days: Type.Integer({
    minimum: 0,
    maximum: 30,
    default: 7,
    description: 'gaps that closed in so many days are listed beside the open ones',
  }),
});

/** Readings that devices counted and that did not arrive (docs/device-protocol.md, "Missing readings"). */
export function addGapRoutes(http: Http, db: Kysely<Tables>): void {
  http.get(
    '/v1/x/vehicle/:id/gaps',
    {
      schema: {
        tags: ['history'],
        summary: 'Readings of a vehicle that are missing, and gaps that closed lately',
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
}
