import { Failure } from '@odograph/contracts/failures';
import { isoMicroseconds, type Microseconds, parseOptionalTimestamp } from '@odograph/contracts/timestamps';
import type { Addresses } from '@odograph/database/addresses';
import { readBatch } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import { showTrip, type TripRow, tripColumns, tripIsOver, tripTables, writeTimestamp } from '@odograph/database/trips';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { type NextPage, sendPage } from '@odograph/http/paging';
import { moment, pageHeaders, answers as responses, timestamp, word } from '@odograph/http/schemas';
import { startOfDay } from '@odograph/reports/scope';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import type { Answers } from '../shared/answers.ts';
import { type Reader, readerOf } from '../shared/read-budget.ts';
import { finite, number, VehicleParameters } from '../shared/schemas.ts';

/** Trips that start in an interval, both ends inclusive. */
interface TripInterval {
  readonly from: Microseconds;
  readonly until: Microseconds;
}

/** A selection of trips of a vehicle in the order of their start. */
interface TripRequest extends TripInterval {
  readonly vehicleId: number;
  readonly offset: number;
  /** Unlimited if undefined. */
  readonly limit?: number;
  /** Adds addresses to the positions. */
  readonly addresses?: Addresses | undefined;
}

/** The last trip of a part. */
interface TripKey {
  readonly start: Microseconds;
  readonly id: string;
  /** Trips of the request up to and including this one. */
  readonly count: number;
}

const isRequested = ({ vehicleId, from, until }: TripRequest) =>
  sql<boolean>`trip.vehicle_id = ${vehicleId} and trip.started_at >= ${isoMicroseconds(from)}::timestamptz
    and trip.started_at <= ${isoMicroseconds(until)}::timestamptz and ${tripIsOver}`;

/**
 * Reads trips as JSON elements, as many as fit into `bytes`.
 * @param after the last trip of the previous part; undefined for the first
 * @returns `next` when more trips of the request may follow
 */
export async function readTrips(
  snapshot: Database,
  request: TripRequest,
  after: TripKey | undefined,
  bytes: number,
): Promise<{ text: string; count: number; next?: TripKey }> {
  const following = after
    ? sql`(trip.started_at, trip.id) > (${isoMicroseconds(after.start)}::timestamptz, ${after.id}::uuid)`
    : sql`true`;
  const limit = request.limit === undefined ? sql`all` : sql`${request.limit - (after?.count ?? 0)}::bigint`;
  const query = sql<TripRow>`
    select ${tripColumns} from ${tripTables}
    where ${isRequested(request)} and ${following}
    order by trip.started_at, trip.id offset ${after ? 0 : request.offset} limit ${limit}`;
  const write = (row: TripRow) => JSON.stringify(showTrip(row));
  let text = '';
  const { rows, last, isComplete } = await readBatch(snapshot, query, write, bytes, (piece) => {
    text += piece.toString();
  });
  const count = (after?.count ?? 0) + rows;
  if (isComplete || !last) return { text, count };
  return { text, count, next: { start: BigInt(last.started_us), id: last.id, count } };
}

/** Tells whether a request has any trip from an offset on, regardless of its own offset and limit. */
async function hasTripsFrom(db: Database, request: TripRequest, offset: number): Promise<boolean> {
  const { rows } = await sql`select 1 from trip where ${isRequested(request)}
    order by trip.started_at, trip.id offset ${offset} limit 1`.execute(db);
  return rows.length > 0;
}

/** Finds the default interval of a request: from the start of this month, in the time zone of the application, to now. */
async function findUsualInterval(db: Database, applicationId: number): Promise<TripInterval> {
  const month = sql`date_trunc('month', now() at time zone time_zone)`;
  const { rows } = await sql<{ from_us: string; until_us: string }>`
    select (extract(epoch from ${startOfDay(month, sql`time_zone`)}) * 1000000)::bigint::text as from_us,
      (extract(epoch from now()) * 1000000)::bigint::text as until_us
    from application where id = ${applicationId}`.execute(db);
  return { from: BigInt(rows[0]?.from_us ?? 0), until: BigInt(rows[0]?.until_us ?? 0) };
}

const TripsQuery = Type.Object({
  from: Type.Optional(
    timestamp('earliest start, inclusive; by default the start of this month in the time zone of the application'),
  ),
  until: Type.Optional(timestamp('latest start, inclusive; by default now')),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'trips to skip' }),
  limit: Type.Optional(Type.Integer({ minimum: 0, description: 'trips in the answer; by default all' })),
  address: Type.Optional(Type.Boolean({ description: 'adds known addresses to the positions' })),
});

const Position = Type.Object(
  {
    latitude: number('decimal degrees', 48.8566),
    longitude: number('decimal degrees', 2.3522),
    address: Type.Optional(Type.String({ description: 'with `address=true`, if known', examples: ['Depot'] })),
  },
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
    const text = await addAddresses(snapshot, request, trips.text);
    return trips.next ? { text: start + text, next: trips.next } : { text: `${start}${text}]}` };
  });
  return { body, hasMore };
}

/** Adds addresses to the positions of trips. @param text trips as comma-separated JSON */
async function addAddresses(db: Database, { vehicleId, addresses }: TripRequest, text: string): Promise<string> {
  if (addresses === undefined) return text;
  const trips = JSON.parse(`[${text}]`) as Static<typeof Trip>[];
  const ends = trips.flatMap(({ first_position: first, last_position: last }) => [first, last]);
  await addresses.addTo(
    db,
    ends.map((end) => [vehicleId, end]),
  );
  return JSON.stringify(trips).slice(1, -1);
}

function nextPage(id: string, { from, until, offset, limit = 0, addresses }: TripRequest): NextPage {
  const parameters = {
    from: writeTimestamp(from),
    until: writeTimestamp(until),
    offset: String(offset + limit),
    limit: String(limit),
    address: addresses && 'true',
  };
  return { path: `/v1/vehicle/${id}/trips`, parameters };
}

/** Interface specification, "Dynamic data": the trips of a vehicle. */
export function tripRoutes(answers: Answers, db: Database, addresses: Addresses): RoutePlugin {
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
        const wanted = query.address === true ? addresses : undefined;
        const trips = { ...(await readRequest(db, caller, vehicle.id, query)), addresses: wanted };
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
