import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { parseOptionalTimestamp } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { writeTimestamp } from '@odograph/database/trips';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { moment, pageHeaders, answers as responses, timestamp, word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';
import type { Answers } from '../answers.ts';
import { type Reader, readerOf } from '../read-budget.ts';
import { VehicleParameters } from '../schemas.ts';
import { findUsualInterval, hasTripsFrom, readTrips, type TripKey, type TripRequest } from './queries.ts';

/** The schema validator accepts the word Infinity as an integer. */
function finite(field: string, value: number): number {
  if (!Number.isFinite(value)) throw invalidParameter(field, 'must be a whole number');
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

const TripsQuery = Type.Object({
  from: Type.Optional(
    timestamp('earliest start, inclusive; by default the start of this month in the time zone of the application'),
  ),
  until: Type.Optional(timestamp('latest start, inclusive; by default now')),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'trips to skip' }),
  limit: Type.Optional(Type.Integer({ minimum: 0, description: 'trips in the answer; by default all' })),
});

const number = (description: string, example = 0) => Type.Number({ description, examples: [example] });
const Position = Type.Object(
  { latitude: number('decimal degrees', 48.8566), longitude: number('decimal degrees', 2.3522) },
  { title: 'TripPosition' },
);
const tripFields = {
  trip_id: Type.String({
    description: 'stays the same when late data changes the trip a little',
    examples: ['1000000001-1772440200'],
  }),
  timestamp: moment('start'),
  distance: number('km', 12.4),
  duration: number('minutes', 24),
  cost: number('by the tariff of the application, 0 without one'),
  fuel_consumption: number('litres, 0 when unknown'),
  fuel_consumption_100km: number('litres, 0 below 1 km'),
  average_speed: number('km/h', 31),
  electric_consumption: number('kWh, 0 when unknown'),
  electric_consumption_100km: number('kWh, 0 below 1 km'),
  first_position: Type.Optional(Position),
  last_position: Type.Optional(Position),
};
export const Trip = Type.Object(tripFields, { title: 'Trip' });
const Trips = Type.Object({ trips: Type.Array(Trip) }, { title: 'Trips' });
const NoTrips = Type.Object({
  trips: Type.Optional(Type.Array(Trip, { maxItems: 0, description: 'empty, with NO_DATA' })),
  error: word(['UNKNOWN_VEHICLE', 'NO_DATA']),
  message: Type.String(),
});

/** Completes the parameters of a request. */
async function readRequest(
  db: Database,
  { applicationId }: { applicationId: number },
  vehicleId: number,
  query: Static<typeof TripsQuery>,
): Promise<TripRequest> {
  const from = parseOptionalTimestamp('from', query.from);
  const until = parseOptionalTimestamp('until', query.until);
  const usual = await findUsualInterval(db, applicationId);
  return {
    vehicleId,
    from: from ?? usual.from,
    until: until ?? usual.until,
    offset: finite('offset', query.offset),
    ...(query.limit !== undefined && { limit: finite('limit', query.limit) }),
  };
}

/**
 * Opens the trips of a request as JSON.
 * @throws Failure NO_DATA when the interval has no trip
 */
async function openTrips(answers: Answers, reader: Reader, request: TripRequest) {
  const { offset, limit } = request;
  let hasMore = false;
  const body = await answers.open<TripKey>(reader, async ({ snapshot, bytes, from: after }) => {
    const trips = await readTrips(snapshot, request, after, bytes);
    if (!after) {
      if (trips.count === 0 && !(await hasTripsFrom(snapshot, request, 0))) {
        throw new Failure('NO_DATA');
      }
      hasMore = limit !== undefined && limit > 0 && (await hasTripsFrom(snapshot, request, offset + limit));
    }
    const start = after ? (trips.count === after.count ? '' : ',') : '{"trips":[';
    return trips.next ? { text: start + trips.text, next: trips.next } : { text: `${start}${trips.text}]}` };
  });
  return { body, hasMore };
}

function nextPage(id: string, { from, until, offset, limit = 0 }: TripRequest): NextPage {
  const parameters = {
    from: writeTimestamp(from),
    until: writeTimestamp(until),
    offset: String(offset + limit),
    limit: String(limit),
  };
  return { path: `/v1/vehicle/${id}/trips`, parameters };
}

/** Interface specification, "Dynamic data": the trips of a vehicle. */
export function tripRoutes(answers: Answers, db: Database): RoutePlugin {
  return (http) => {
    http.get(
      '/v1/vehicle/:id/trips',
      {
        schema: {
          tags: ['trips'],
          summary: 'Completed trips of one vehicle, by start',
          answerHeaders: pageHeaders,
          params: VehicleParameters,
          querystring: TripsQuery,
          response: { ...responses(Trips, 'UNKNOWN_VEHICLE', 'NO_DATA'), 404: NoTrips },
        },
      },
      async (request, reply) => {
        const { caller, query } = request;
        const { id } = request.params;
        const vehicle = await findVehicle(db, caller, id);
        const trips = await readRequest(db, caller, vehicle.id, query);
        try {
          const { body, hasMore } = await openTrips(answers, readerOf(request), trips);
          return sendPage(reply, body, hasMore ? nextPage(id, trips) : undefined);
        } catch (error) {
          if (!(error instanceof Failure) || error.code !== 'NO_DATA') throw error;
          return reply.code(error.status).send({ trips: [], error: error.code, message: error.message });
        }
      },
    );
  };
}
