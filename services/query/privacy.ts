import { positionKeyPattern } from '@odograph/contracts/positions';

/**
 * SQL text that is true while the positions of a vehicle are private; needs the table vehicle. A period counts until it is
 * over and not only from its start on: the clock of a replica, or of a transaction that began just before, may be behind.
 */
export const privacyIsOn = `exists (select from privacy_period where privacy_period.vehicle_id = vehicle.id
  and coalesce(upper(privacy_period.period), 'infinity') > now())`;

const withoutPositions = (data: string) => `(select coalesce(jsonb_agg(datum order by place), '[]')
  from jsonb_array_elements(${data}) with ordinality as list (datum, place)
  where datum->>'key' !~* '${positionKeyPattern}')`;

/** SQL text for the latest CAN data or sensors: while privacy is on, without data whose key tells of a position. */
export const latestLists = {
  can: `case when vehicle_latest.can is not null and ${privacyIsOn}
    then ${withoutPositions('vehicle_latest.can')} else vehicle_latest.can end`,
  sensors: `case when vehicle_latest.sensors is not null and ${privacyIsOn}
    then (select coalesce(jsonb_agg(jsonb_set(sensor, '{data}', ${withoutPositions("sensor->'data'")}) order by rank), '[]')
      from jsonb_array_elements(vehicle_latest.sensors) with ordinality as sensor_list (sensor, rank))
    else vehicle_latest.sensors end`,
} as const;
