import { createHmac } from 'node:crypto';
import type { GbfsSettings, GbfsVehicleType } from '@odograph/contracts/gbfs';
import { type GeofenceArea, type GeofencePoint, unwrapRing } from '@odograph/contracts/geofences';
import { earthRadiusMetres, greatCircleMetres, radians } from '@odograph/contracts/positions';
import type { GbfsSystem, HiddenState, Spot, SystemVehicle } from './queries.ts';

/** A vehicle as vehicle_status.json has it. */
export interface PublishedVehicle {
  readonly vehicle_id: string;
  readonly vehicle_type_id: string;
  readonly is_reserved: false;
  readonly is_disabled: false;
  readonly last_reported?: string;
  readonly lat?: number;
  readonly lon?: number;
  readonly station_id?: string;
  readonly home_station_id?: string;
  readonly current_range_meters?: number;
  readonly current_fuel_percent?: number;
  readonly available_until?: string;
}

/** Why a vehicle is not published. */
export type HiddenReason = HiddenState | 'NO_TYPE' | 'RANGE_UNKNOWN';

const defaultRadiusMetres = 300;
/** Finer values would let a vehicle be recognized after a rental that changed them little. */
const rangeStepMetres = 1000;
const minuteMs = 60_000;

/** Rounds to the six decimals of GBFS 3.0, "Coordinate Precision". */
const roundDegrees = (degrees: number): number => Math.round(degrees * 1e6) / 1e6;
/** Writes a time without milliseconds, as `available_until` is defined. */
const writeTime = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`;
const sameText = (one: string | undefined, other: string) =>
  one === undefined || one.toLowerCase() === other.toLowerCase();

/** Finds the first type of which a vehicle is. */
export function typeOf({ vehicleTypes }: GbfsSettings, vehicle: SystemVehicle): GbfsVehicleType | undefined {
  return vehicleTypes.find(
    ({ match = {} }) =>
      sameText(match.brand, vehicle.brand) &&
      sameText(match.model, vehicle.model) &&
      sameText(match.kind, vehicle.kind) &&
      sameText(match.energy, vehicle.energy),
  );
}

/**
 * Derives the public id of a vehicle: another one after each rental and after each drive without one, and without the key
 * not to be told from a random one (GBFS 3.0, "vehicle_status.json").
 */
export function publicId(idKey: Buffer, { id, rentedUntil, drivenUntil }: SystemVehicle): string {
  const hmac = createHmac('sha256', idKey).update(JSON.stringify([id, rentedUntil, drivenUntil]));
  return hmac.digest('base64url').slice(0, 22);
}

/** Computes the range in whole kilometres: the reported one, else by the level; undefined if neither is known. */
function rangeOf(type: GbfsVehicleType, { rangeKm, level }: SystemVehicle): number | undefined {
  const byLevel = level === null ? undefined : (Math.min(100, Math.max(0, level)) / 100) * (type.max_range_meters ?? 0);
  const metres = rangeKm === null ? (byLevel ?? type.rangeIfUnknownMeters) : rangeKm * 1000;
  return metres === undefined ? undefined : Math.max(0, Math.floor(metres / rangeStepMetres) * rangeStepMetres);
}

const levelOf = ({ level }: SystemVehicle) =>
  level === null ? {} : { current_fuel_percent: Math.round(Math.min(100, Math.max(0, level))) / 100 };

/** The station at which a vehicle stands instead of its position, or the position and the station it belongs to. */
function placeOf(vehicle: SystemVehicle, spots: ReadonlyMap<string, Spot>, radiusMetres: number) {
  const { latitude, longitude } = vehicle;
  if (latitude === null || longitude === null) return undefined;
  const spot = spots.get(vehicle.spot ?? '');
  const place = { lat: roundDegrees(latitude), lon: roundDegrees(longitude) };
  if (!spot) return place;
  const isThere = greatCircleMetres(spot.latitude, spot.longitude, latitude, longitude) <= radiusMetres;
  return isThere ? { station_id: spot.shortId } : { ...place, home_station_id: spot.shortId };
}

/** Decides whether a vehicle is published, and writes it. */
export function publish(
  { settings, idKey }: GbfsSystem,
  vehicle: SystemVehicle,
  spots: ReadonlyMap<string, Spot>,
): PublishedVehicle | HiddenReason {
  if (vehicle.hidden !== null) return vehicle.hidden;
  const type = typeOf(settings, vehicle);
  if (!type) return 'NO_TYPE';
  const place = placeOf(vehicle, spots, settings.stationRadiusMetres ?? defaultRadiusMetres);
  if (!place) return 'POSITION_UNKNOWN';
  const range = rangeOf(type, vehicle);
  if (range === undefined && type.propulsion_type !== 'human') return 'RANGE_UNKNOWN';
  const { contactAt, nextBookingAt } = vehicle;
  return {
    ...{ vehicle_id: publicId(idKey, vehicle), vehicle_type_id: type.vehicle_type_id, ...place },
    ...{ is_reserved: false, is_disabled: false },
    // The second within the minute at which a device reports would tell it from others.
    ...(contactAt && { last_reported: writeTime(new Date(Math.floor(contactAt.getTime() / minuteMs) * minuteMs)) }),
    ...(range !== undefined && { current_range_meters: range }),
    ...levelOf(vehicle),
    ...(nextBookingAt && { available_until: writeTime(nextBookingAt) }),
  };
}

const circlePoints = 64;

function circleRing([longitude, latitude]: GeofencePoint, radiusMetres: number): GeofencePoint[] {
  const angle = radiusMetres / earthRadiusMetres;
  const ring = Array.from({ length: circlePoints }, (_, index): GeofencePoint => {
    const bearing = (-2 * Math.PI * index) / circlePoints;
    const sine = Math.sin(radians(latitude)) * Math.cos(angle);
    const pointLatitude = Math.asin(sine + Math.cos(radians(latitude)) * Math.sin(angle) * Math.cos(bearing));
    const step = Math.atan2(
      Math.sin(bearing) * Math.sin(angle) * Math.cos(radians(latitude)),
      Math.cos(angle) - Math.sin(radians(latitude)) * Math.sin(pointLatitude),
    );
    return [longitude + (step * 180) / Math.PI, (pointLatitude * 180) / Math.PI];
  });
  return ring;
}

/** Twice the area of a ring, positive if its points go counter-clockwise. */
function signedArea(ring: readonly GeofencePoint[]): number {
  return ring.reduce((area, [x, y], index) => {
    const [nextX, nextY] = ring[(index + 1) % ring.length] ?? [x, y];
    return area + x * nextY - nextX * y;
  }, 0);
}

interface MultiPolygon {
  readonly type: 'MultiPolygon';
  readonly coordinates: readonly (readonly (readonly GeofencePoint[])[])[];
}

/** Writes a geofence as a GeoJSON MultiPolygon whose ring is closed and goes counter-clockwise (RFC 7946, section 3.1.6). */
export function writeMultiPolygon(shape: GeofenceArea): MultiPolygon {
  const points =
    shape.type === 'Point' ? circleRing(shape.coordinates, shape.radiusMetres) : openRing(shape.coordinates[0] ?? []);
  const ring = signedArea(points) < 0 ? [...points].reverse() : points;
  const written = [...ring, ...ring.slice(0, 1)].map(([x, y]): GeofencePoint => [roundDegrees(x), roundDegrees(y)]);
  return { type: 'MultiPolygon', coordinates: [[written]] };
}

/** A ring without its last point, which repeats the first, and without jumps at the 180th meridian. */
const openRing = (ring: readonly GeofencePoint[]): GeofencePoint[] => unwrapRing(ring.slice(0, -1));
