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
  'lat(itude)?|lon(gitude)?|lng|gps|gnss|position|heading|coordinates|location|locatedat|address|geofence';
/** Keys from which a position can be derived, and keys of free text from serial ports. */
const landmarkWords =
  'cell.?id|area.?code|(^|[._])(cells?|lac|cid|poi|network)$|network[.]|beacon|wifi|ssid|^inr(egions|ids)$|destination|routeline|^serial_(text|hex)';

/**
 * Matches the keys of CAN data and sensor values that disclose a position. A regular expression for JavaScript and
 * PostgreSQL, to be matched ignoring case.
 */
export const positionKeyPattern = `${positionWords}|${landmarkWords}`;
