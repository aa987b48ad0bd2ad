import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that is true for a vehicle with this plate, `vehicle` being the alias of the table. Only letters and digits count,
 * upper and lower case alike, exactly as in the index vehicle_plate.
 */
export function hasPlate(plate: string): RawBuilder<boolean> {
  return sql<boolean>`regexp_replace(upper(vehicle.plate), '[^A-Z0-9]', '', 'g')
    = regexp_replace(upper(${plate}::text), '[^A-Z0-9]', '', 'g')`;
}
