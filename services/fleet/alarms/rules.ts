import type { AlarmKind } from '@odograph/contracts/alarms';
import { type Failure, invalidParameter } from '@odograph/contracts/failures';
import { type GeofencePoint, type GeofenceShape, unwrapRing } from '@odograph/contracts/geofences';
import type { NewGeofence, Parameters } from './schemas.ts';

type ParameterName = keyof Parameters;

/** The parameters of each kind; of several lists, exactly one must be given. */
const neededParameters: Readonly<Record<AlarmKind, readonly (readonly ParameterName[])[]>> = {
  towing: [[]],
  crash: [[]],
  jamming: [[]],
  silent: [['afterMinutes']],
  'low-battery': [['belowPercent'], ['belowVolts', 'canKey']],
  geofence: [['geofenceId', 'when']],
  speed: [['limitKmh']],
  'unanswered-command': [[]],
};

/** Checks that a rule has the parameters of its kind and no others. @throws Failure INVALID_PARAMETER */
export function requireParameters(kind: AlarmKind, parameters: Parameters): void {
  const given = (Object.keys(parameters) as ParameterName[]).filter((name) => parameters[name] !== undefined);
  const alternatives = neededParameters[kind];
  const unknown = given.find((name) => !alternatives.some((names) => names.includes(name)));
  if (unknown !== undefined) throw invalidParameter(`parameters.${unknown}`, `does not belong to the kind ${kind}`);
  const chosen = alternatives.find((names) => names.some((name) => given.includes(name))) ?? alternatives[0] ?? [];
  const missing = chosen.find((name) => !given.includes(name));
  if (missing !== undefined) throw invalidParameter(`parameters.${missing}`, 'is missing');
  const surplus = given.find((name) => !chosen.includes(name));
  if (surplus !== undefined) throw invalidParameter(`parameters.${surplus}`, `excludes ${chosen.join(' and ')}`);
}

/**
 * Checks the shape of a geofence: a circle, or a polygon that is closed, does not touch itself and does not enclose a pole.
 * @throws Failure INVALID_PARAMETER
 */
export function requireShape({ geometry, radiusMetres }: NewGeofence): GeofenceShape {
  const points = geometry.type === 'Point' ? [geometry.coordinates] : geometry.coordinates.flat();
  if (points.some(([, latitude]) => Math.abs(latitude) > 90)) throw refused('must have latitudes from -90 to 90');
  if (geometry.type === 'Point') {
    if (radiusMetres === undefined) throw invalidParameter('radiusMetres', 'is missing');
    return { type: 'Point', coordinates: geometry.coordinates, radiusMetres };
  }
  if (radiusMetres !== undefined) throw invalidParameter('radiusMetres', 'does not belong to a polygon');
  const [ring = []] = geometry.coordinates;
  requireRing(ring);
  return { type: 'Polygon', coordinates: geometry.coordinates };
}

const refused = (rule: string): Failure => invalidParameter('geometry', rule);

const areEqual = ([x, y]: GeofencePoint, [otherX, otherY]: GeofencePoint): boolean => x === otherX && y === otherY;

function requireRing(given: readonly GeofencePoint[]): void {
  const [first, last] = [given[0], given.at(-1)];
  if (first === undefined || last === undefined || !areEqual(first, last)) {
    throw refused('must end with the point with which it begins');
  }
  const ring = unwrapRing(given);
  const longitudes = ring.map(([longitude]) => longitude);
  if (Math.max(...longitudes) - Math.min(...longitudes) >= 180) throw refused('must span less than 180 degrees');
  const edges = ring.slice(1).map((to, index) => ({ from: ring[index] ?? to, to }));
  if (edges.some(({ from, to }) => areEqual(from, to))) throw refused('must not repeat a point');
  requireSimple(edges);
}

function requireSimple(edges: readonly Edge[]): void {
  for (const [index, edge] of edges.entries()) {
    const next = edges[(index + 1) % edges.length] ?? edge;
    const others = edges.slice(index + 2, index === 0 ? -1 : undefined);
    if (turnsBack(edge, next) || others.some((other) => meet(edge, other))) {
      throw refused('must not touch or cross itself');
    }
  }
}

interface Edge {
  readonly from: GeofencePoint;
  readonly to: GeofencePoint;
}

/** Positive if `point` lies left of an edge, zero if on its line. */
function sideOf({ from, to }: Edge, [x, y]: GeofencePoint): number {
  return Math.sign((to[0] - from[0]) * (y - from[1]) - (to[1] - from[1]) * (x - from[0]));
}

/** Whether an edge goes back along the one before it. */
function turnsBack(edge: Edge, next: Edge): boolean {
  const forward =
    (edge.to[0] - edge.from[0]) * (next.to[0] - next.from[0]) +
    (edge.to[1] - edge.from[1]) * (next.to[1] - next.from[1]);
  return sideOf(edge, next.to) === 0 && forward < 0;
}

const isWithin = ({ from, to }: Edge, [x, y]: GeofencePoint): boolean =>
  Math.min(from[0], to[0]) <= x &&
  x <= Math.max(from[0], to[0]) &&
  Math.min(from[1], to[1]) <= y &&
  y <= Math.max(from[1], to[1]);

/** Whether two edges have a point in common. */
function meet(one: Edge, other: Edge): boolean {
  const [oneFrom, oneTo] = [sideOf(other, one.from), sideOf(other, one.to)];
  const [otherFrom, otherTo] = [sideOf(one, other.from), sideOf(one, other.to)];
  if (oneFrom * oneTo < 0 && otherFrom * otherTo < 0) return true;
  return (
    (oneFrom === 0 && isWithin(other, one.from)) ||
    (oneTo === 0 && isWithin(other, one.to)) ||
    (otherFrom === 0 && isWithin(one, other.from)) ||
    (otherTo === 0 && isWithin(one, other.to))
  );
}
