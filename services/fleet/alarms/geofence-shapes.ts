import { type Failure, invalidParameter } from '@odograph/contracts/failures';
import type { GeofenceWindows } from '@odograph/contracts/geofence-windows';
import { type GeofencePoint, type GeofenceShape, unwrapRing } from '@odograph/contracts/geofences';
import { isTimeZone, timeZoneRule } from '@odograph/contracts/time-zone';
import type { NewGeofence } from './schemas.ts';

/**
 * Validates the shape of a geofence: a circle, a corridor, or a closed polygon that does not touch itself or enclose a pole.
 * @throws Failure INVALID_PARAMETER
 */
export function requireShape({ geometry, radiusMetres, widthMetres }: NewGeofence): GeofenceShape {
  const points = pointsOf(geometry);
  if (points.some(([, latitude]) => Math.abs(latitude) > 90)) throw refused('must have latitudes from -90 to 90');
  if (radiusMetres !== undefined && geometry.type !== 'Point') {
    throw invalidParameter('radiusMetres', `does not belong to a ${geometry.type}`);
  }
  if (widthMetres !== undefined && geometry.type !== 'LineString') {
    throw invalidParameter('widthMetres', `does not belong to a ${geometry.type}`);
  }
  if (geometry.type === 'Point') {
    if (radiusMetres === undefined) throw invalidParameter('radiusMetres', 'is missing');
    return { type: 'Point', coordinates: geometry.coordinates, radiusMetres };
  }
  if (geometry.type === 'LineString') {
    if (widthMetres === undefined) throw invalidParameter('widthMetres', 'is missing');
    requireLine(geometry.coordinates);
    return { type: 'LineString', coordinates: geometry.coordinates, widthMetres };
  }
  const [ring = []] = geometry.coordinates;
  requireRing(ring);
  return { type: 'Polygon', coordinates: geometry.coordinates };
}

function pointsOf(geometry: NewGeofence['geometry']): readonly GeofencePoint[] {
  if (geometry.type === 'Point') return [geometry.coordinates];
  return geometry.type === 'LineString' ? geometry.coordinates : geometry.coordinates.flat();
}

/** Validates the time windows of a geofence. @returns undefined if it is always active @throws Failure INVALID_PARAMETER */
export function requireWindows({ timeZone, windows }: NewGeofence): GeofenceWindows | undefined {
  if (windows === undefined) {
    if (timeZone !== undefined) throw invalidParameter('timeZone', 'requires windows');
    return undefined;
  }
  if (timeZone === undefined) throw invalidParameter('timeZone', 'is missing');
  if (!isTimeZone(timeZone)) throw invalidParameter('timeZone', timeZoneRule);
  return { timeZone, windows };
}

const refused = (rule: string): Failure => invalidParameter('geometry', rule);

const areEqual = ([x, y]: GeofencePoint, [otherX, otherY]: GeofencePoint): boolean => x === otherX && y === otherY;

function requireRing(given: readonly GeofencePoint[]): void {
  const [first, last] = [given[0], given.at(-1)];
  if (first === undefined || last === undefined || !areEqual(first, last)) {
    throw refused('must end with its first point');
  }
  requireSimple(requireLine(given));
}

/** @returns the edges @throws Failure INVALID_PARAMETER for a line that is too long or repeats a point */
function requireLine(given: readonly GeofencePoint[]): Edge[] {
  const line = unwrapRing(given);
  const longitudes = line.map(([longitude]) => longitude);
  if (Math.max(...longitudes) - Math.min(...longitudes) >= 180) throw refused('must span less than 180 degrees');
  const edges = line.slice(1).map((to, index) => ({ from: line[index] ?? to, to }));
  if (edges.some(({ from, to }) => areEqual(from, to))) throw refused('must not repeat a point');
  return edges;
}

function requireSimple(edges: readonly Edge[]): void {
  for (const [index, edge] of edges.entries()) {
    const next = edges[(index + 1) % edges.length] ?? edge;
    const others = edges.slice(index + 2, index === 0 ? -1 : undefined);
    if (turnsBack(edge, next) || others.some((other) => intersect(edge, other))) {
      throw refused('must not touch or cross itself');
    }
  }
}

interface Edge {
  readonly from: GeofencePoint;
  readonly to: GeofencePoint;
}

/** Computes the side of an edge: positive if the point is to the left, zero if on its line. */
function sideOf({ from, to }: Edge, [x, y]: GeofencePoint): number {
  return Math.sign((to[0] - from[0]) * (y - from[1]) - (to[1] - from[1]) * (x - from[0]));
}

/** Tests whether the next edge runs back along an edge. */
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

/** Tests whether two edges intersect or touch. */
function intersect(one: Edge, other: Edge): boolean {
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
