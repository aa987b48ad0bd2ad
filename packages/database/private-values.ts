import {
  jsonPartPattern,
  namingKeyPattern,
  nestedValuePattern,
  partKeyPattern,
  positionKeyPattern,
  positionNamePattern,
} from '@odograph/contracts/positions';

/** SQL text of `disclosesPosition` (packages/contracts/positions.ts). */
const disclosesPosition = `(datum->>'key' ~* '${positionKeyPattern}'
  or datum->>'key' ~ '${partKeyPattern}' and datum->>'value' ~ '${jsonPartPattern}'
  or (datum->>'key' ~* '${namingKeyPattern}' or datum->>'value' ~ '${nestedValuePattern}')
    and datum->>'value' ~* '${positionNamePattern}')`;

/** SQL text of `isPositionSensor` (packages/contracts/positions.ts). */
const isPositionSensor = `(sensor->>'name' ~* '${positionKeyPattern}'
  or exists (select from jsonb_array_elements(sensor->'data') as of_sensor (datum)
    where datum->>'key' = 'list' and datum->>'value' ~* '${positionKeyPattern}'))`;

/**
 * Returns SQL text of CAN data, or the data of a sensor, without what discloses a position.
 * @param data a JSON array
 */
export const withoutPositions = (data: string): string => `(select coalesce(jsonb_agg(datum order by place), '[]')
  from jsonb_array_elements(${data}) with ordinality as list (datum, place) where not ${disclosesPosition})`;

/** Returns SQL text of sensors without what discloses a position. @param sensors a JSON array */
export const sensorsWithoutPositions = (sensors: string): string => `(select
    coalesce(jsonb_agg(jsonb_set(sensor, '{data}', ${withoutPositions("sensor->'data'")}) order by rank), '[]')
  from jsonb_array_elements(${sensors}) with ordinality as sensor_list (sensor, rank) where not ${isPositionSensor})`;
