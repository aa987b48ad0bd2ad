import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp } from '@odograph/http/schemas';
import Type from 'typebox';
import { VehicleParameters } from '../schemas.ts';
import { parseInterval } from '../series/rules.ts';
import { readPositions } from './queries.ts';
import { composeTrail, type TrailPosition } from './rules.ts';

const number = (description: string, example: number) => Type.Number({ description, examples: [example] });
const position = { latitude: number('decimal degrees', 48.8566), longitude: number('decimal degrees', 2.3522) };
const time = number('device time, UNIX seconds', 1772440200.25);

const TrailPoint = Type.Object(
  {
    time,
    ...position,
    speed: Type.Optional(number('km/h', 52)),
    angle: Type.Optional(number('heading in degrees, 0 is north', 90)),
    gap: Type.Optional(
      Type.Literal(true, { description: 'the way from the point before is not known', examples: [true] }),
    ),
  },
  { title: 'TrailPoint' },
);
const Stop = Type.Object(
  { from: moment('start'), until: moment('end, or the last position'), seconds: number('duration', 600), ...position },
  { title: 'Stop' },
);
const Trail = Type.Object(
  {
    points: Type.Array(TrailPoint),
    stops: Type.Array(Stop, { description: 'of two minutes or more' }),
    totals: Type.Object(
      {
        distance: number('km; gaps count with their great circle', 12.4),
        movingSeconds: number('time under way', 1440),
        stoppedSeconds: number('time without moving, short stops included', 600),
        gapSeconds: number('time in gaps', 0),
        maximumSpeed: number('highest reported speed, km/h', 92),
      },
      { title: 'TrailTotals' },
    ),
  },
  { title: 'Trail' },
);

const TrailQuery = Type.Object({
  from: timestamp('start, inclusive'),
  until: timestamp('end, exclusive; at most 31 days after the start'),
  points: Type.Integer({ minimum: 2, maximum: 5000, default: 1000, description: 'points in the answer at most' }),
});

const round = (value: number, digits: number) => Number(value.toFixed(digits));
const iso = (seconds: number) => isoMicroseconds(BigInt(Math.round(seconds * 1e6)));

function writePoint({ speed, angle, isAfterGap, ...point }: TrailPosition & { isAfterGap: boolean }) {
  return {
    ...point,
    ...(speed !== null && { speed }),
    ...(angle !== null && { angle }),
    ...(isAfterGap && { gap: true as const }),
  };
}

/** An addition to the interface: where a vehicle was, for a replay. */
export function trailRoutes(db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/x/vehicle/:id/trail',
      {
        schema: {
          tags: ['history'],
          summary: 'Where a vehicle was in an interval, with its stops, its gaps and totals, for a replay',
          description:
            `The line is simplified by the algorithm of Visvalingam and Whyatt, which keeps sharp turns; the ends of stops
            and gaps are kept before anything else. Positions of privacy intervals are missing.`.replace(/\s+/g, ' '),
          params: VehicleParameters,
          querystring: TrailQuery,
          response: answers(Trail, 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL'),
        },
      },
      async ({ viewer, params, query }) => {
        const vehicleId = await findVisibleVehicle(db, viewer, params.id);
        const positions = await readPositions(db, vehicleId, parseInterval(query, 31));
        const { points, stops, totals } = composeTrail(positions, query.points);
        const { distanceKm, movingSeconds, stoppedSeconds, gapSeconds, maximumSpeed } = totals;
        return {
          points: points.map(writePoint),
          stops: stops.map(({ from, until, ...place }) => ({
            ...{ from: iso(from), until: iso(until), seconds: round(until - from, 3), ...place },
          })),
          totals: {
            ...{ distance: round(distanceKm, 3), movingSeconds: round(movingSeconds, 3), maximumSpeed },
            ...{ stoppedSeconds: round(stoppedSeconds, 3), gapSeconds: round(gapSeconds, 3) },
          },
        };
      },
    );
  };
}
