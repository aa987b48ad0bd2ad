import { earthRadiusMetres, greatCircleMetres, radians } from './positions.ts';

/** A corner or centre as in GeoJSON: longitude, latitude. */
export type GeofencePoint = readonly [longitude: number, latitude: number];

/** A circle around a point, or a polygon of one closed ring; an edge takes the shorter way around the earth. */
export type GeofenceArea =
  | { readonly type: 'Point'; readonly coordinates: GeofencePoint; readonly radiusMetres: number }
  | { readonly type: 'Polygon'; readonly coordinates: readonly (readonly GeofencePoint[])[] };
/** A circle, a polygon, or a corridor along a line; edges are straight in longitude and latitude. */
export type GeofenceShape =
  | GeofenceArea
  | { readonly type: 'LineString'; readonly coordinates: readonly GeofencePoint[]; readonly widthMetres: number };

/** Maximum number of points of a corridor line or of a closed polygon ring. */
export const maximumGeofencePoints = 500;

/** Where a position lies: within the geofence, outside but within the margin, or beyond it. */
export type GeofenceZone = 'inside' | 'margin' | 'outside';

const metresPerDegree = radians(1) * earthRadiusMetres;

/** The difference of two longitudes by the shorter way, -180 to 180 degrees. */
const longitudeStep = (from: number, to: number): number => ((((to - from + 180) % 360) + 360) % 360) - 180;

/** Unwraps longitudes across the antimeridian, so that every edge is continuous. A ring may then not close. */
export function unwrapRing(ring: readonly GeofencePoint[]): GeofencePoint[] {
  let longitude = ring[0]?.[0] ?? 0;
  return ring.map(([next, latitude]) => {
    longitude += longitudeStep(longitude, next);
    return [longitude, latitude];
  });
}

/** Creates the test of positions against a geofence. @param marginMetres width of the zone around it */
export function locateBy(
  shape: GeofenceShape,
  marginMetres: number,
): (latitude: number, longitude: number) => GeofenceZone {
  if (shape.type === 'Polygon') return locateByRing(unwrapRing(shape.coordinates[0] ?? []), marginMetres);
  if (shape.type === 'LineString')
    return locateByLine(unwrapRing(shape.coordinates), shape.widthMetres / 2, marginMetres);
  const { radiusMetres } = shape;
  const [centreLongitude, centreLatitude] = shape.coordinates;
  return (latitude, longitude) => {
    const metres = greatCircleMetres(centreLatitude, centreLongitude, latitude, longitude);
    if (metres <= radiusMetres) return 'inside';
    return metres <= radiusMetres + marginMetres ? 'margin' : 'outside';
  };
}

/** A position relative to a line: its longitude unwrapped like those of the line, and the cosine of its latitude. */
type Nearby = { readonly x: number; readonly longitudeScale: number } | undefined;

/** Creates a projection of positions near a line; it returns undefined for positions certainly beyond a distance. */
function createNearby(line: readonly GeofencePoint[], reachMetres: number) {
  const longitudes = line.map(([longitude]) => longitude);
  const latitudes = line.map(([, latitude]) => latitude);
  const [west, east] = [Math.min(...longitudes), Math.max(...longitudes)];
  const [south, north] = [Math.min(...latitudes), Math.max(...latitudes)];
  const reachDegrees = reachMetres / metresPerDegree;
  return (latitude: number, longitude: number): Nearby => {
    if (latitude < south - reachDegrees || latitude > north + reachDegrees) return undefined;
    const longitudeScale = Math.max(Math.cos(radians(latitude)), 1e-6);
    const middle = (west + east) / 2;
    const x = middle + longitudeStep(middle, longitude);
    return x < west - reachDegrees / longitudeScale || x > east + reachDegrees / longitudeScale
      ? undefined
      : { x, longitudeScale };
  };
}

function locateByRing(ring: readonly GeofencePoint[], marginMetres: number) {
  const findNearby = createNearby(ring, marginMetres);
  return (latitude: number, longitude: number): GeofenceZone => {
    const nearby = findNearby(latitude, longitude);
    if (nearby === undefined) return 'outside';
    if (isInRing(ring, nearby.x, latitude)) return 'inside';
    return metresToLine(ring, nearby.x, latitude, nearby.longitudeScale) <= marginMetres ? 'margin' : 'outside';
  };
}

function locateByLine(line: readonly GeofencePoint[], halfWidthMetres: number, marginMetres: number) {
  const findNearby = createNearby(line, halfWidthMetres + marginMetres);
  return (latitude: number, longitude: number): GeofenceZone => {
    const nearby = findNearby(latitude, longitude);
    if (nearby === undefined) return 'outside';
    const metres = metresToLine(line, nearby.x, latitude, nearby.longitudeScale);
    if (metres <= halfWidthMetres) return 'inside';
    return metres <= halfWidthMetres + marginMetres ? 'margin' : 'outside';
  };
}

/** Counts the edges east of a point (even-odd rule). */
function isInRing(ring: readonly GeofencePoint[], x: number, y: number): boolean {
  let isInside = false;
  let [previousX, previousY] = ring[0] ?? [0, 0];
  for (const [nextX, nextY] of ring) {
    const crosses = previousY > y !== nextY > y;
    if (crosses && x < previousX + ((y - previousY) / (nextY - previousY)) * (nextX - previousX)) isInside = !isInside;
    [previousX, previousY] = [nextX, nextY];
  }
  return isInside;
}

/** Computes metres to the nearest edge on the tangent plane at the point. @param longitudeScale cosine of the latitude */
function metresToLine(line: readonly GeofencePoint[], x: number, y: number, longitudeScale: number): number {
  let nearest = Number.POSITIVE_INFINITY;
  let [fromX, fromY] = line[0] ?? [0, 0];
  for (const [toX, toY] of line) {
    const [aX, aY] = [(fromX - x) * longitudeScale, fromY - y];
    const [edgeX, edgeY] = [(toX - fromX) * longitudeScale, toY - fromY];
    const squared = edgeX * edgeX + edgeY * edgeY;
    const share = squared === 0 ? 0 : Math.min(1, Math.max(0, -(aX * edgeX + aY * edgeY) / squared));
    nearest = Math.min(nearest, Math.hypot(aX + share * edgeX, aY + share * edgeY));
    [fromX, fromY] = [toX, toY];
  }
  return nearest * metresPerDegree;
}
