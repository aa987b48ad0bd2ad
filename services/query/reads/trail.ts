import { earthRadiusMetres, greatCircleMetres, radians } from '@odograph/contracts/positions';
import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { findVisibleVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { answers, moment, timestamp } from '@odograph/http/schemas';
import { sql } from 'kysely';
import Type from 'typebox';
import { parseInterval, type SeriesInterval } from '../shared/fields.ts';
import { instant } from '../shared/reading-keys.ts';
import { number, VehicleParameters } from '../shared/schemas.ts';

/** A position of a vehicle; speed in km/h, angle in degrees. */
export interface TrailPosition {
  /** Device time, UNIX seconds. */
  readonly time: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly speed: number | null;
  readonly angle: number | null;
  /** The share of the positions from this one to the next that move, if some in between were left out. */
  readonly movingShare?: number;
}

/** Until the next position the vehicle moves, stands, or is not followed. */
type Phase = 'MOVING' | 'STANDING' | 'GAP';

interface Leg {
  readonly phase: Phase;
  readonly seconds: number;
  readonly movingSeconds: number;
  readonly metres: number;
}

interface TrailStop {
  readonly from: number;
  readonly until: number;
  readonly latitude: number;
  readonly longitude: number;
}

// The values of docs/trips.md, "Rules".
const standingBelowKmh = 5;
const standingBelowMetresPerSecond = 1.11;
const gapSeconds = 120;
const movedMetres = 50;
/** A faster leg is an error of the receiver. */
const fastestMetresPerSecond = 100;
const shortestStopSeconds = 120;

const metresBetween = (one: TrailPosition, other: TrailPosition) =>
  greatCircleMetres(one.latitude, one.longitude, other.latitude, other.longitude);

function legBetween(one: TrailPosition, other: TrailPosition): Leg {
  const [seconds, metres] = [other.time - one.time, metresBetween(one, other)];
  if (seconds > gapSeconds)
    return { phase: metres < movedMetres ? 'STANDING' : 'GAP', seconds, movingSeconds: 0, metres };
  const stands = one.speed === null ? metres < standingBelowMetresPerSecond * seconds : one.speed < standingBelowKmh;
  if (stands) return { phase: 'STANDING', seconds, movingSeconds: 0, metres };
  return { phase: 'MOVING', seconds, movingSeconds: seconds * (one.movingShare ?? 1), metres };
}

const isReachable = (from: TrailPosition, to: TrailPosition) =>
  metresBetween(from, to) <= fastestMetresPerSecond * (to.time - from.time) + movedMetres;

/**
 * Leaves out errors of the receiver: positions that the vehicle cannot have reached since the one before. Where two
 * runs of positions exclude each other, the one with more positions stays, of equal ones the earlier. It cannot detect
 * errors with at least as many positions as an adjacent drive, or errors between two gaps long enough for the vehicle
 * to have been there.
 */
export function withoutErrors(positions: readonly TrailPosition[]): TrailPosition[] {
  const kept: TrailPosition[] = [];
  /** Positions in sequence that can be reached from each other, but not from the last ones kept. */
  let rejected: TrailPosition[] = [];
  for (const position of positions) {
    const [last, lastRejected] = [kept.at(-1), rejected.at(-1)];
    if (!last || isReachable(last, position)) {
      kept.push(position);
      rejected = [];
      continue;
    }
    rejected = lastRejected && isReachable(lastRejected, position) ? rejected : [];
    rejected.push(position);
    const [first = position] = rejected;
    const before = kept.at(-rejected.length);
    if (before && !isReachable(before, first)) continue;
    kept.splice(1 - rejected.length, rejected.length - 1, ...rejected);
    rejected = [];
  }
  return kept;
}

/** Finds the runs of standing legs that last two minutes or more, as indices of their first and last position. */
function findStops(legs: readonly Leg[]): { first: number; last: number }[] {
  const stops: { first: number; last: number }[] = [];
  let seconds = 0;
  legs.forEach((leg, index) => {
    const standsOn = leg.phase === 'STANDING';
    if (standsOn) seconds += leg.seconds;
    const ends = !standsOn || index === legs.length - 1;
    const last = standsOn ? index + 1 : index;
    if (ends && seconds >= shortestStopSeconds) {
      let first = last;
      while (first > 0 && legs[first - 1]?.phase === 'STANDING') first -= 1;
      stops.push({ first, last });
    }
    if (!standsOn) seconds = 0;
  });
  return stops;
}

const sumOf = (legs: readonly Leg[], measure: (leg: Leg) => number) => legs.reduce((sum, leg) => sum + measure(leg), 0);

/**
 * Composes a trail from positions in the order of time.
 * @param points how many positions are kept at most. Those that remain are chosen by simplify; the ends of stops and gaps
 *   are among them as long as there is room
 */
function composeTrail(given: readonly TrailPosition[], points: number) {
  const positions = withoutErrors(given);
  const legs = positions.slice(1).map((position, index) => legBetween(positions[index] ?? position, position));
  const stops = findStops(legs);
  const gaps = legs.flatMap(({ phase }, index) => (phase === 'GAP' ? [index] : []));
  const ends = [...stops.flatMap(({ first, last }) => [first, last]), ...gaps.flatMap((index) => [index, index + 1])];
  const isAfterGap = new Set(gaps.map((index) => index + 1));
  const speeds = given.flatMap(({ speed }) => (speed === null ? [] : [speed]));
  return {
    points: simplify(positions, points, new Set(ends)).flatMap((index) => {
      const position = positions[index];
      return position ? [{ ...position, isAfterGap: isAfterGap.has(index) }] : [];
    }),
    stops: stops.flatMap(({ first, last }): TrailStop[] => {
      const [start, end] = [positions[first], positions[last]];
      if (!start || !end) return [];
      return [{ from: start.time, until: end.time, latitude: start.latitude, longitude: start.longitude }];
    }),
    totals: {
      distanceKm: sumOf(legs, ({ phase, metres }) => (phase === 'STANDING' ? 0 : metres)) / 1000,
      movingSeconds: sumOf(legs, ({ movingSeconds }) => movingSeconds),
      stoppedSeconds: sumOf(legs, ({ phase, seconds, movingSeconds }) =>
        phase === 'GAP' ? 0 : seconds - movingSeconds,
      ),
      gapSeconds: sumOf(legs, ({ phase, seconds }) => (phase === 'GAP' ? seconds : 0)),
      maximumSpeed: speeds.reduce((most, speed) => Math.max(most, speed), 0),
    },
  };
}

/** A binary heap of positions, the one with the smallest area first. */
class Heap {
  readonly #areas: Float64Array;
  readonly #items: number[] = [];
  readonly #places: Int32Array;

  constructor(areas: Float64Array) {
    this.#areas = areas;
    this.#places = new Int32Array(areas.length).fill(-1);
    for (let item = 1; item < areas.length - 1; item += 1) {
      this.#put(item, this.#items.length);
      this.update(item);
    }
  }

  take(): number | undefined {
    const [first] = this.#items;
    const last = this.#items.pop();
    if (first === undefined || last === undefined || first === last) return first;
    this.#put(last, 0);
    this.update(last);
    return first;
  }

  /** Moves an item to its place after its area has changed. */
  update(item: number): void {
    let place = this.#places[item] ?? 0;
    for (let parent = (place - 1) >> 1; place > 0 && this.#isLess(item, parent); parent = (place - 1) >> 1) {
      this.#put(this.#items[parent] ?? item, place);
      place = parent;
    }
    for (;;) {
      let child = 2 * place + 1;
      if (child + 1 < this.#items.length && this.#isLess(this.#items[child + 1] ?? item, child)) child += 1;
      const other = this.#items[child];
      if (other === undefined || this.#isLess(item, child)) break;
      this.#put(other, place);
      place = child;
    }
    this.#put(item, place);
  }

  #put(item: number, place: number): void {
    this.#items[place] = item;
    this.#places[item] = place;
  }

  #isLess(item: number, place: number): boolean {
    return (this.#areas[item] ?? 0) <= (this.#areas[this.#items[place] ?? item] ?? 0);
  }
}

/** Computes twice the area of the triangle of three positions, in square metres on a plane at the middle one. */
function triangleArea(one: TrailPosition, middle: TrailPosition, other: TrailPosition): number {
  const east = ({ longitude }: TrailPosition) => {
    const degrees = longitude - middle.longitude;
    return radians(degrees - 360 * Math.round(degrees / 360)) * Math.cos(radians(middle.latitude)) * earthRadiusMetres;
  };
  const north = ({ latitude }: TrailPosition) => radians(latitude - middle.latitude) * earthRadiusMetres;
  return Math.abs(east(one) * north(other) - east(other) * north(one));
}

/**
 * Chooses positions that keep the shape of a line: as long as there are too many, the one whose triangle with its
 * neighbours is smallest is removed (Visvalingam and Whyatt, "Line generalisation by repeated elimination of points",
 * 1993). So sharp turns stay, and straight legs lose their positions.
 * @param kept indices that are removed only if they are too many themselves
 * @returns indices, ascending; the first and last position are always among them
 */
export function simplify(positions: readonly TrailPosition[], points: number, kept: ReadonlySet<number>): number[] {
  const { length } = positions;
  const before = Int32Array.from(positions, (_, index) => index - 1);
  const after = Int32Array.from(positions, (_, index) => index + 1);
  // Above every area on earth, so that these are last, in the order of their own areas.
  const areaOf = (index: number) => {
    const [one, middle, other] = [positions[before[index] ?? 0], positions[index], positions[after[index] ?? 0]];
    const area = one && middle && other ? triangleArea(one, middle, other) : 0;
    return kept.has(index) ? 1e30 + area * 1e12 : area;
  };
  const areas = Float64Array.from(positions, (_, index) =>
    index === 0 || index === length - 1 ? Infinity : areaOf(index),
  );
  const heap = new Heap(areas);
  const removed = new Set<number>();
  while (length - removed.size > Math.max(2, points)) {
    const index = heap.take();
    if (index === undefined) break;
    removed.add(index);
    const [previous, next] = [before[index] ?? 0, after[index] ?? 0];
    after[previous] = next;
    before[next] = previous;
    for (const neighbour of [previous, next]) {
      if (neighbour === 0 || neighbour === length - 1) continue;
      // Never below that of the removed one: otherwise a curve would be removed from one end.
      areas[neighbour] = Math.max(areaOf(neighbour), areas[index] ?? 0);
      heap.update(neighbour);
    }
  }
  return positions.flatMap((_, index) => (removed.has(index) ? [] : [index]));
}

/** More positions than these are thinned out. As buckets of 31 days these last 119 s each, so none hides a gap. */
const maxPositions = 22_500;

/**
 * Reads the positions of a vehicle in the order of time. If they are more than 22,500, the interval is divided into as
 * many buckets, and each has its first position, with its highest speed, and its last. The legs between buckets are
 * therefore those of consecutive positions. Readings in a privacy interval have no position.
 */
export async function readPositions(
  db: Database,
  vehicleId: number,
  { from, until }: SeriesInterval,
): Promise<TrailPosition[]> {
  const located = sql`from reading_in_units where vehicle_id = ${vehicleId} and time >= ${instant(from)}
    and time < ${instant(until)} and latitude is not null and longitude is not null`;
  const all =
    await sql<TrailPosition>`select extract(epoch from time)::float8 as time, latitude, longitude, speed, angle
    ${located} limit ${maxPositions + 1}::integer`.execute(db);
  if (all.rows.length <= maxPositions) return all.rows.sort((one, other) => one.time - other.time);
  const length = (until - from) / BigInt(maxPositions) + 1n;
  const thinned = await sql<TrailPosition>`
    with bucket as (
      select extract(epoch from min(time))::float8 as first_time, first(latitude, time) as first_latitude,
        first(longitude, time) as first_longitude, first(angle, time) as first_angle, max(speed) as max_speed,
        coalesce(avg((speed >= ${standingBelowKmh}::float8)::integer), 1)::float8 as moving_share,
        extract(epoch from max(time))::float8 as last_time, last(latitude, time) as last_latitude,
        last(longitude, time) as last_longitude, last(speed, time) as last_speed, last(angle, time) as last_angle
      ${located}
      group by date_bin(${String(length)}::bigint * interval '1 microsecond', time, ${instant(from)}))
    select first_time as time, first_latitude as latitude, first_longitude as longitude, max_speed as speed,
      first_angle as angle, moving_share as "movingShare" from bucket
    union all
    select last_time, last_latitude, last_longitude, last_speed, last_angle, 1 from bucket where last_time > first_time
    order by time`.execute(db);
  return thinned.rows;
}

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

function writePoint(point: TrailPosition & { isAfterGap: boolean }) {
  const { time, latitude, longitude, speed, angle, isAfterGap } = point;
  return {
    ...{ time, latitude, longitude },
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
