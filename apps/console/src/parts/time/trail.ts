import { answerOf, api, type Schema } from '../../api/client.ts';

/** A position of a vehicle; `time` is UNIX seconds, `speed` km/h. */
interface TrailPoint {
  readonly time: number;
  readonly longitude: number;
  readonly latitude: number;
  readonly angle: number;
  readonly speed: number | null;
  /** Whether nothing is known between the point before and this one. */
  readonly isAfterGap: boolean;
}

/** Where a vehicle was in an interval. */
export interface Trail {
  readonly points: readonly TrailPoint[];
  readonly stops: Schema<'Trail'>['stops'];
  readonly totals: Schema<'Trail'>['totals'];
}

/** Where a vehicle was at one moment, and what it did. */
export interface Moment extends TrailPoint {
  readonly state: 'moving' | 'parked' | 'unknown';
}

/** Loads where a vehicle was. @param from UNIX seconds. @param until UNIX seconds, exclusive. @throws CallFailure */
export async function loadTrail(id: string, from: number, until: number, points: number): Promise<Trail> {
  const call = api.GET('/v1/x/vehicle/{id}/trail', { params: { path: { id }, query: { from, until, points } } });
  const trail = await answerOf(call);
  const known = trail.points.map(({ time, longitude, latitude, angle, speed, gap }) => ({
    ...{ time, longitude, latitude, angle: angle ?? 0, speed: speed ?? null, isAfterGap: gap === true },
  }));
  return { ...trail, points: known.some(({ speed }) => speed !== null) ? known : withSpeeds(known) };
}

const earthRadiusKm = 6371;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;

function distanceKm(one: TrailPoint, other: TrailPoint): number {
  const north = radians(other.latitude - one.latitude);
  const east = radians(other.longitude - one.longitude);
  const across = Math.cos(radians(one.latitude)) * Math.cos(radians(other.latitude)) * Math.sin(east / 2) ** 2;
  return 2 * earthRadiusKm * Math.asin(Math.sqrt(Math.sin(north / 2) ** 2 + across));
}

/** Takes the speeds from the positions, for a device that reports none. */
function withSpeeds(points: readonly TrailPoint[]): TrailPoint[] {
  return points.map((point, index) => {
    const before = points[index - 1];
    if (!before || point.isAfterGap || point.time <= before.time) return point;
    return { ...point, speed: distanceKm(before, point) / ((point.time - before.time) / 3600) };
  });
}

/** The first index whose point is at a time or after it; the number of points if there is none. */
function indexAfter(points: readonly TrailPoint[], time: number): number {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.time ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A slider moves in whole seconds. */
const toleranceSeconds = 1;

/**
 * Finds where the vehicle was at a time, between the points around it; before the first and behind the last one it is there.
 * @returns undefined without points
 */
export function momentAt({ points, stops }: Trail, time: number): Moment | undefined {
  const index = indexAfter(points, time);
  const [before, next] = [points[Math.max(0, index - 1)], points[Math.min(index, points.length - 1)]];
  if (!before || !next) return undefined;
  const isOutside = time < before.time - toleranceSeconds || time > next.time + toleranceSeconds;
  if (isOutside || (next.isAfterGap && time > before.time && time < next.time)) {
    return { ...(time > next.time ? next : before), time, speed: null, state: 'unknown' };
  }
  const share =
    next.time === before.time ? 1 : Math.min(1, Math.max(0, (time - before.time) / (next.time - before.time)));
  const between = (one: number, other: number) => one + (other - one) * share;
  const stands = stops.some(({ from, until }) => Date.parse(from) / 1000 <= time && time <= Date.parse(until) / 1000);
  return {
    ...next,
    time,
    longitude: between(before.longitude, next.longitude),
    latitude: between(before.latitude, next.latitude),
    state: stands ? 'parked' : 'moving',
  };
}

/** The lines to draw: one for each part between gaps. */
export function linesOf({ points }: Trail): [number, number][][] {
  const lines: [number, number][][] = [];
  for (const { longitude, latitude, isAfterGap } of points) {
    if (isAfterGap || lines.length === 0) lines.push([]);
    lines.at(-1)?.push([longitude, latitude]);
  }
  return lines;
}
