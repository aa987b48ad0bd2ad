import { type RawBuilder, sql } from 'kysely';

/** SQL that is true for a vehicle that may be booked at all; `vehicle` is the alias of the table. */
export const isInService: RawBuilder<boolean> = sql<boolean>`(vehicle.archived_at is null and not (vehicle.towing
  or vehicle.accident or vehicle.maintenance or vehicle.breakdown or vehicle.stolen or vehicle.unavailable))`;

/** SQL that is true for a vehicle that a device sits in now. */
export const hasDevice: RawBuilder<boolean> = sql<boolean>`exists (select from device_link
  where device_link.vehicle_id = vehicle.id and device_link.period @> now())`;

/** SQL that is true for a vehicle that can be booked for a period, which is SQL of the type tstzrange. */
export function isAvailable(period: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${isInService} and ${hasDevice} and not exists (select from booking
    where booking.vehicle_id = vehicle.id and booking.deleted_at is null
      and tstzrange(booking.starts_at, booking.ends_at) && ${period}))`;
}
