import { earthRadiusMetres } from '@odograph/contracts/positions';
import { type RawBuilder, sql } from 'kysely';

/** SQL of a latitude and a longitude, decimal degrees. */
type Position = readonly [latitude: RawBuilder<unknown>, longitude: RawBuilder<unknown>];

/** SQL of `greatCircleMetres` (contracts/positions.ts). */
export function metresBetween([latitude, longitude]: Position, [otherLatitude, otherLongitude]: Position) {
  return sql<number>`(2 * ${sql.lit(earthRadiusMetres)} * asin(least(1, sqrt(
    sin(radians(${latitude} - ${otherLatitude}) / 2) ^ 2 + cos(radians(${otherLatitude})) * cos(radians(${latitude}))
      * sin(radians(${longitude} - ${otherLongitude}) / 2) ^ 2))))`;
}
