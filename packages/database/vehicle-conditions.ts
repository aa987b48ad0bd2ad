import { plateKey, plateSeparators } from '@odograph/contracts/text-patterns';
import { type RawBuilder, sql } from 'kysely';

// SQL conditions on the table `vehicle`, which the statement must name by that alias.

/** True for a vehicle that may be booked: neither archived nor under any state flag. */
const isInService: RawBuilder<boolean> = sql<boolean>`(vehicle.archived_at is null and not (vehicle.towing
  or vehicle.accident or vehicle.maintenance or vehicle.breakdown or vehicle.stolen or vehicle.unavailable))`;

/** Names what keeps a vehicle from being booked: `archived` and its state flags; empty for a vehicle in service. */
export const outOfService: RawBuilder<string[]> = sql<string[]>`array_remove(array[
  case when vehicle.archived_at is not null then 'archived' end, case when vehicle.towing then 'towing' end,
  case when vehicle.accident then 'accident' end, case when vehicle.maintenance then 'maintenance' end,
  case when vehicle.breakdown then 'breakdown' end, case when vehicle.stolen then 'stolen' end,
  case when vehicle.unavailable then 'unavailable' end], null)`;

/** True for a vehicle that is linked to a device now. */
export const hasDevice: RawBuilder<boolean> = sql<boolean>`exists (select from device_link
  where device_link.vehicle_id = vehicle.id and device_link.period @> now())`;

/** True for a vehicle that can be booked for an interval. @param interval SQL of the type tstzrange */
export function isAvailable(interval: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(${isInService} and ${hasDevice} and not exists (select from booking
    where booking.vehicle_id = vehicle.id and booking.deleted_at is null
      and tstzrange(booking.starts_at, booking.ends_at) && ${interval}))`;
}

/** SQL of `plateKey` (contracts/text-patterns.ts), in the words of the index vehicle_plate. */
export function plateKeyOf(plate: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`regexp_replace(upper(${plate}), ${sql.lit(plateSeparators)}, '', 'g')`;
}

/** True for a vehicle with this plate: only letters and digits count, in any case. */
export function hasPlate(plate: string): RawBuilder<boolean> {
  return sql<boolean>`${plateKeyOf(sql.ref('vehicle.plate'))} = ${plateKeyOf(sql`${plate.normalize('NFC')}::text`)}`;
}

/** SQL on `vehicle`: true if the VIN, make, model or plate contains a text. Ignores case and, in plates, separators. */
export function isDescribedBy(text: string): RawBuilder<boolean> {
  const written = sql`strpos(vehicle.search_text, ${text.toLowerCase()}) > 0`;
  const key = plateKey(text);
  if (key === '') return sql<boolean>`(${written})`;
  // search_text holds plates without separators, but also without letters outside A to Z.
  const place = /^[A-Z0-9]*$/.test(key)
    ? sql`strpos(vehicle.search_text, ${key.toLowerCase()})`
    : sql`strpos(${plateKeyOf(sql.ref('vehicle.plate'))}, ${key})`;
  return sql<boolean>`(${written} or ${place} > 0)`;
}

/**
 * SQL of the field group `fleet` without a speed that is older than that of the position: with the new time of the group it
 * would count as newer. Requires `vehicle_latest`.
 */
export const fleetWithoutStaleSpeed = sql`case
  when vehicle_latest.location_time > vehicle_latest.fleet_time and vehicle_latest.location ? 'speed'
  then vehicle_latest.fleet - 'speed' else vehicle_latest.fleet end`;

/** True if the newer of the two reported speeds is that of the location. */
const isLocationSpeed = sql`(vehicle_latest.location ? 'speed' and (not coalesce(vehicle_latest.fleet ? 'speed', false)
  or vehicle_latest.location_time >= vehicle_latest.fleet_time))`;
/** SQL of the newer of the two reported speeds, km/h; needs `vehicle_latest`. */
export const lastSpeed = sql`case when ${isLocationSpeed} then (vehicle_latest.location->>'speed')::float8 else (vehicle_latest.fleet->>'speed')::float8 end`;
const speedTime = sql`case when ${isLocationSpeed} then vehicle_latest.location_time else vehicle_latest.fleet_time end`;

/**
 * SQL on `vehicle_latest` that is true for a moving vehicle. The same rule as that of the live stream: ignition on, or more than
 * 5 km/h not reported before the ignition.
 */
export const isMoving = sql<boolean>`(coalesce((vehicle_latest.status->>'ignition')::boolean, vehicle_latest.fleet->>'engine' = 'ON', false)
  or coalesce(${lastSpeed} > 5 and ${speedTime} >= coalesce(vehicle_latest.status_time, '-infinity'), false))`;

/** SQL of the time without contact after which a vehicle is silent: parked, its device reports once a day. */
export const maxPause = sql`case when ${isMoving} then interval '10 minutes' else interval '25 hours' end`;
