import type { Geofence } from './alarm-text.ts';

/** A corner or a centre while it is drawn or typed, decimal degrees. */
export interface DraftPoint {
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
}

/** A geofence while it is drawn or typed. */
export interface Draft {
  readonly name: string;
  readonly type: Geofence['geometry']['type'];
  readonly centre: DraftPoint;
  readonly radiusMetres: number | undefined;
  /** The width of a corridor. */
  readonly widthMetres: number | undefined;
  /** The vertices of a polygon, without the repeated first one, or of the center line of a corridor. */
  readonly corners: readonly DraftPoint[];
  readonly timeZone: string;
  /** Empty if the geofence is always active. */
  readonly windows: readonly GeofenceWindow[];
}

export type GeofenceWindow = NonNullable<Geofence['windows']>[number];

export type Place = readonly [longitude: number, latitude: number];

export const nowhere: DraftPoint = { latitude: undefined, longitude: undefined };

export const emptyDraft = (type: Draft['type']): Draft => ({
  name: '',
  type,
  centre: nowhere,
  ...{ radiusMetres: undefined, widthMetres: undefined, corners: [], windows: [] },
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
});

const pointOf = ([longitude = 0, latitude = 0]: readonly number[]): DraftPoint => ({ latitude, longitude });

/** The place of a point; none while one of its numbers is missing. */
export const placesOf = ({ latitude, longitude }: DraftPoint): Place[] =>
  latitude === undefined || longitude === undefined ? [] : [[longitude, latitude]];

/** Writes a place as a point, to 11 cm. */
export const toPoint = ([longitude, latitude]: Place): DraftPoint => ({
  latitude: Number(latitude.toFixed(6)),
  longitude: Number(longitude.toFixed(6)),
});

export function toDraft({ name, geometry, radiusMetres, widthMetres, timeZone, windows = [] }: Geofence): Draft {
  const empty = emptyDraft(geometry.type);
  const common = { ...empty, name, windows, timeZone: timeZone ?? empty.timeZone };
  if (geometry.type === 'Point') return { ...common, centre: pointOf(geometry.coordinates), radiusMetres };
  if (geometry.type === 'LineString') return { ...common, widthMetres, corners: geometry.coordinates.map(pointOf) };
  const [ring = []] = geometry.coordinates;
  return { ...common, corners: ring.slice(0, -1).map(pointOf) };
}

/** The body of a call; undefined while the shape is not complete. */
export function toBody({ name, type, centre, radiusMetres, widthMetres, corners, timeZone, windows }: Draft) {
  const fields = { name: name.trim(), ...(windows.length > 0 && { timeZone, windows: [...windows] }) };
  if (type === 'Point') {
    const [place] = placesOf(centre);
    if (!place || radiusMetres === undefined) return undefined;
    return { ...fields, geometry: { type, coordinates: [...place] as [number, number] }, radiusMetres };
  }
  const ring = corners.flatMap(placesOf).map(([longitude, latitude]): [number, number] => [longitude, latitude]);
  if (type === 'LineString') {
    if (widthMetres === undefined || ring.length < 2 || ring.length < corners.length) return undefined;
    return { ...fields, geometry: { type, coordinates: ring }, widthMetres };
  }
  const [first] = ring;
  if (!first || ring.length < 3 || ring.length < corners.length) return undefined;
  return { ...fields, geometry: { type, coordinates: [[...ring, first]] } };
}

const earthRadiusMetres = 6_371_008.8;
const radians = (degrees: number) => (degrees * Math.PI) / 180;
const degrees = (angle: number) => (angle * 180) / Math.PI;

/** The distance of two places along the surface of the earth (haversine formula). */
export function metresBetween([longitude, latitude]: Place, [otherLongitude, otherLatitude]: Place): number {
  const [one, other] = [radians(latitude), radians(otherLatitude)];
  const half =
    Math.sin((other - one) / 2) ** 2 +
    Math.cos(one) * Math.cos(other) * Math.sin(radians(otherLongitude - longitude) / 2) ** 2;
  return 2 * earthRadiusMetres * Math.asin(Math.min(1, Math.sqrt(half)));
}

/** The place at a distance from another. @param bearing degrees, 0 is north */
export function placeAt([longitude, latitude]: Place, bearing: number, metres: number): Place {
  const [turn, from, way] = [radians(bearing), radians(latitude), metres / earthRadiusMetres];
  const sine = Math.sin(from) * Math.cos(way) + Math.cos(from) * Math.sin(way) * Math.cos(turn);
  const east = Math.atan2(Math.sin(turn) * Math.sin(way) * Math.cos(from), Math.cos(way) - Math.sin(from) * sine);
  return [longitude + degrees(east), degrees(Math.asin(sine))];
}

const circlePoints = 64;

/** Continues longitudes beyond 180 degrees, so that no edge crosses the whole map. */
function unwrap(ring: readonly Place[]): Place[] {
  let before = ring[0]?.[0] ?? 0;
  return ring.map(([longitude, latitude]) => {
    before += ((((longitude - before + 180) % 360) + 360) % 360) - 180;
    return [before, latitude];
  });
}

/** Computes the bearing between two places by a planar approximation, in degrees clockwise from north. */
const bearingOf = ([fromX, fromY]: Place, [toX, toY]: Place): number =>
  degrees(Math.atan2((toX - fromX) * Math.cos(radians((fromY + toY) / 2)), toY - fromY));

/** Computes a closed outline around a line, with semicircular ends; it overlaps itself inside of bends. */
function corridorOutline(line: readonly Place[], halfWidthMetres: number): Place[] {
  const side = (way: readonly Place[]) =>
    way.slice(1).flatMap((to, index) => {
      const from = way[index] ?? to;
      const bearing = bearingOf(from, to);
      const turns = index === way.length - 2 ? [90, 60, 30, 0, -30, -60, -90] : [90];
      return [
        placeAt(from, bearing + 90, halfWidthMetres),
        ...turns.map((turn) => placeAt(to, bearing + turn, halfWidthMetres)),
      ];
    });
  const outline = [...side(line), ...side(line.toReversed())];
  return [...outline, ...outline.slice(0, 1)];
}

/** The outline of a geofence on the map, closed; empty while there is nothing to draw. */
export function outlineOf({ type, centre, radiusMetres, widthMetres, corners }: Draft): Place[] {
  if (type === 'LineString') {
    const line = unwrap(corners.flatMap(placesOf));
    return line.length < 2 || widthMetres === undefined ? line : corridorOutline(line, widthMetres / 2);
  }
  if (type === 'Polygon') {
    const places = unwrap(corners.flatMap(placesOf));
    const [first] = places;
    return first ? [...places, first] : [];
  }
  const [place] = placesOf(centre);
  if (!place || radiusMetres === undefined) return [];
  return Array.from({ length: circlePoints + 1 }, (_unused, index) =>
    placeAt(place, (index / circlePoints) * 360, radiusMetres),
  );
}
