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
