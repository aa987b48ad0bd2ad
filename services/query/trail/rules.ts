import { earthRadiusMetres, greatCircleMetres, radians } from '@odograph/contracts/great-circle';

/** A position of a vehicle; speed in km/h, angle in degrees. */
export interface TrailPosition {
  /** Device time, UNIX seconds. */
  readonly time: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly speed: number | null;
  readonly angle: number | null;
}

/** Until the next position the vehicle moves, stands, or is not followed. */
type Phase = 'MOVING' | 'STANDING' | 'GAP';

interface Leg {
  readonly phase: Phase;
  readonly seconds: number;
  readonly metres: number;
}

export interface Stop {
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
  if (seconds > gapSeconds) return { phase: metres < movedMetres ? 'STANDING' : 'GAP', seconds, metres };
  const stands = one.speed === null ? metres < standingBelowMetresPerSecond * seconds : one.speed < standingBelowKmh;
  return { phase: stands ? 'STANDING' : 'MOVING', seconds, metres };
}

/** Leaves out positions that the vehicle cannot have reached since the one before. */
function withoutErrors(positions: readonly TrailPosition[]): TrailPosition[] {
  const kept: TrailPosition[] = [];
  for (const position of positions) {
    const last = kept.at(-1);
    if (last && metresBetween(last, position) > fastestMetresPerSecond * (position.time - last.time) + movedMetres)
      continue;
    kept.push(position);
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

const secondsIn = (legs: readonly Leg[], phase: Phase) =>
  legs.reduce((sum, leg) => sum + (leg.phase === phase ? leg.seconds : 0), 0);

/**
 * Composes a trail from positions in the order of time.
 * @param points how many positions are kept at most. Those that remain are chosen by simplify; the ends of stops and gaps
 *   are among them as long as there is room
 */
export function composeTrail(given: readonly TrailPosition[], points: number) {
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
    stops: stops.flatMap(({ first, last }): Stop[] => {
      const [start, end] = [positions[first], positions[last]];
      if (!start || !end) return [];
      return [{ from: start.time, until: end.time, latitude: start.latitude, longitude: start.longitude }];
    }),
    totals: {
      distanceKm: legs.reduce((sum, { phase, metres }) => sum + (phase === 'STANDING' ? 0 : metres), 0) / 1000,
      movingSeconds: secondsIn(legs, 'MOVING'),
      stoppedSeconds: secondsIn(legs, 'STANDING'),
      gapSeconds: secondsIn(legs, 'GAP'),
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
