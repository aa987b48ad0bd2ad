import { createHash } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { readingIsPrivate } from '@odograph/database/reading-json';
import { findTrip, type TripTimes } from '@odograph/database/trips';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { Http } from '@odograph/http/http';
import { answers, VehicleId } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type, { type Static } from 'typebox';
import type { Fleet, FleetRoutes } from '../common/fleet.ts';
import { type SnappedLines, snapToRoads, type TimedPosition } from './router.ts';

/** Maximum positions of a trip sent to the router; longer trips are thinned evenly. */
const maxPositions = 300;
/** Maximum parts of a trip, each of which is one request to the router. */
const maxParts = 10;
/** Maximum readings of a trip. */
const maxReadings = 50_000;
/** Maximum time between connected positions. */
const maxGapSeconds = 120;
/** Redis also holds the queues, so it must not fill with snapped trips. */
const cacheSeconds = 3600;

const SnappedPath = Type.Object({
  id: VehicleId,
  tripId: Type.String({ maxLength: 256, description: 'trip_id of a trip object' }),
});
const SnappedTrip = Type.Object(
  {
    type: Type.Literal('Feature'),
    geometry: Type.Object({
      type: Type.Literal('MultiLineString'),
      coordinates: Type.Array(
        Type.Array(
          Type.Unsafe<readonly [longitude: number, latitude: number]>({
            ...{ type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2, examples: [[2.3522, 48.8566]] },
          }),
        ),
      ),
    }),
    properties: Type.Object({
      trip_id: Type.String(),
      snapped: Type.Literal(true, { description: 'computed by a router, not measured' }),
      distance: Type.Number({ description: 'km along the roads', examples: [12.4] }),
    }),
  },
  { title: 'SnappedTrip', description: 'a GeoJSON Feature' },
);

interface TripPosition extends TimedPosition {
  /** Number of privacy intervals before the position. */
  readonly interval: number;
}

/** Reads the positions of a completed trip, without those of privacy intervals. */
async function readPositions(db: Database, vehicleId: number, { start, end }: TripTimes): Promise<TripPosition[]> {
  const { rows } = await sql<TripPosition>`select extract(epoch from reading.time)::float8 as time, latitude, longitude,
      (select count(*) from privacy_period where privacy_period.vehicle_id = reading.vehicle_id
        and upper(privacy_period.period) <= reading.time)::integer as interval
    from reading_in_units as reading where vehicle_id = ${vehicleId} and time >= ${isoMicroseconds(start)}::timestamptz
      and time <= ${isoMicroseconds(end)}::timestamptz
      and latitude is not null and longitude is not null
      and not ${readingIsPrivate}
    order by reading.time limit ${maxReadings}`.execute(db);
  return rows;
}

/**
 * Splits positions at time gaps and privacy intervals, where a router would guess the route, and thins them evenly.
 * @returns the 10 parts with the most positions
 */
function splitTrip(positions: readonly TripPosition[]): TripPosition[][] {
  const parts: TripPosition[][] = [];
  let before: TripPosition | undefined;
  for (const position of positions) {
    const isConnected =
      before !== undefined && position.time - before.time <= maxGapSeconds && position.interval === before.interval;
    if (!isConnected) parts.push([]);
    parts.at(-1)?.push(position);
    before = position;
  }
  const step = Math.ceil(positions.length / maxPositions);
  return parts
    .map((part) => part.filter((_, index) => index % step === 0 || index === part.length - 1))
    .filter(({ length }) => length > 1)
    .toSorted((one, other) => other.length - one.length)
    .slice(0, maxParts);
}

async function snapParts({ redis, config }: Fleet, parts: readonly TripPosition[][]): Promise<SnappedLines> {
  const snapped: SnappedLines[] = [];
  for (const part of parts) snapped.push(await snapToRoads(redis, config, part));
  return {
    lines: snapped.flatMap(({ lines }) => lines),
    metres: snapped.reduce((sum, { metres }) => sum + metres, 0),
  };
}

/** Snaps the parts of a trip; caches the result in Redis for an hour. @throws Failure */
async function snapTrip(fleet: Fleet, parts: readonly TripPosition[][]): Promise<SnappedLines> {
  const { redis, config, logger } = fleet;
  const digest = createHash('sha256')
    .update(JSON.stringify([config.ROUTER_KIND, parts]))
    .digest('base64url');
  const key = `${config.QUEUE_PREFIX}:snapped:${digest}`;
  const known = await redis.get(key).catch(() => null);
  if (known !== null) return JSON.parse(known) as SnappedLines;
  try {
    const snapped = await snapParts(fleet, parts);
    await redis.set(key, JSON.stringify(snapped), 'EX', cacheSeconds).catch(() => undefined);
    return snapped;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    logger.warn({ err: cause }, 'trip not snapped to roads');
    throw new Failure('OVERLOADED', 'the router failed to snap the trip', { retryAfterSeconds: 5 }, { cause });
  }
}

function addSnappedTrip(http: Http, fleet: Fleet): void {
  const { db, config } = fleet;
  http.get(
    '/v1/x/vehicle/:id/trips/:tripId/snapped',
    {
      schema: {
        tags: ['trips'],
        summary: 'Return a completed trip snapped to roads, as GeoJSON; its track has the measured positions',
        description: 'NO_DATA without a router (ROUTER_URL), or if no part of the trip can be snapped.',
        params: SnappedPath,
        response: answers(SnappedTrip, 'UNKNOWN_VEHICLE', 'NOT_FOUND', 'NO_DATA'),
      },
    },
    async ({ viewer, params: { id, tripId } }): Promise<Static<typeof SnappedTrip>> => {
      const vehicleId = await findVisibleVehicle(db, viewer, id);
      const trip = await findTrip(db, vehicleId, tripId);
      if (!trip) throw new Failure('NOT_FOUND', 'the vehicle has no such completed trip');
      if (config.ROUTER_URL === undefined) throw new Failure('NO_DATA', 'the platform has no router');
      const parts = splitTrip(await readPositions(db, vehicleId, trip));
      if (parts.length === 0) throw new Failure('NO_DATA', 'the trip has no positions to snap');
      const { lines, metres } = await snapTrip(fleet, parts);
      if (lines.length === 0) throw new Failure('NO_DATA', 'the router found no road along the trip');
      return {
        type: 'Feature',
        geometry: { type: 'MultiLineString', coordinates: lines.map((line) => [...line]) },
        properties: { trip_id: tripId, snapped: true, distance: Number((metres / 1000).toFixed(3)) },
      };
    },
  );
}

/** Trips snapped to roads (docs/routing.md). */
export const routing: FleetRoutes = { viewer: [addSnappedTrip] };
