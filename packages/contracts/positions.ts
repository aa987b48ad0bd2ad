import type { CanDatum, TelemetryReading } from './telemetry.ts';

/** The mean radius of the earth (IUGG), metres. */
export const earthRadiusMetres = 6_371_008.8;

export const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** Computes the great-circle distance in metres (haversine, mean radius); positions in decimal degrees. */
export function greatCircleMetres(
  fromLatitude: number,
  fromLongitude: number,
  latitude: number,
  longitude: number,
): number {
  const halfLatitude = Math.sin(radians(latitude - fromLatitude) / 2);
  const halfLongitude = Math.sin(radians(longitude - fromLongitude) / 2);
  const haversine =
    halfLatitude * halfLatitude +
    Math.cos(radians(fromLatitude)) * Math.cos(radians(latitude)) * halfLongitude * halfLongitude;
  return 2 * earthRadiusMetres * Math.asin(Math.min(1, Math.sqrt(haversine)));
}

/** Words for a position in the keys of CAN data and sensor values. */
const positionWords =
  'lat(itude)?|lon(gitude)?|lng|gps|gnss|position|heading|coordinates|location|locatedat|address|geofence|geohash|plus.?code|what3words';
/** Keys from which a position can be derived. */
const landmarkWords =
  'cell.?id|area.?code|(^|[._"])(cells?|lac|cid|poi|network)($|")|network[.]|beacon|^tags_(near|away|lost)|wifi|ssid|^inr(egions|ids)$|destination|routeline|homelinknearby';
/** Keys of content that the platform does not decode: text from serial ports, answers and whole messages of devices. */
const contentWords = '^serial_(text|hex)|^(raw|result)($|[._])|^payload[._]';
/** Keys that are a number, because the meaning of the value is unknown. */
const unknownWords = '^(io|field|parameter_|custom[.]param[.])[0-9]+(_[0-9]+)?$|^event[.]enum$';

/**
 * Matches the keys of CAN data and sensor values that disclose a position. A regular expression for JavaScript and
 * PostgreSQL, to be matched ignoring case, like the others here.
 */
export const positionKeyPattern = `${positionWords}|${landmarkWords}|${contentWords}|${unknownWords}`;
/** Matches the keys whose value is the name, or the number, of another value. */
export const namingKeyPattern = '^(event|alarm|list)$';
/** Matches the values with names in them, objects and arrays as JSON. */
export const nestedValuePattern = '^[[{]';
/** Matches names in values that disclose a position. */
export const positionNamePattern = `${positionKeyPattern}|^[0-9]+$`;

/** Matches the keys of the second and later parts of a long value (addToCan in packages/codec). */
export const partKeyPattern = '_[0-9]+$';
/** Matches parts of JSON; the name that discloses a position may be in an earlier part. */
export const jsonPartPattern = '[[{}",]';

const positionKey = new RegExp(positionKeyPattern, 'i');
const namingKey = new RegExp(namingKeyPattern, 'i');
const nestedValue = new RegExp(nestedValuePattern);
const positionName = new RegExp(positionNamePattern, 'i');
const partKey = new RegExp(partKeyPattern);
const jsonPart = new RegExp(jsonPartPattern);

/**
 * Whether CAN data or a sensor value discloses a position: by its key, by a name in its value, or as a part of JSON. In
 * SQL, `withoutPositions` (packages/database/private-values.ts) decides the same.
 */
export function disclosesPosition({ key, value }: CanDatum): boolean {
  if (positionKey.test(key) || (partKey.test(key) && jsonPart.test(value))) return true;
  return (namingKey.test(key) || nestedValue.test(value)) && positionName.test(value);
}

/** Whether a sensor as a whole discloses a position, such as a beacon, whose name is its address. */
export function isPositionSensor({ name, data }: NonNullable<TelemetryReading['sensors']>[number]): boolean {
  return positionKey.test(name) || data.some(({ key, value }) => key === 'list' && positionKey.test(value));
}
