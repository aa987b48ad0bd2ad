import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { vehicleMember } from './reading-json.ts';

/** Whose readings an answer is about. */
export interface VehicleScope {
  /** True for their rows of the table reading, and only for theirs. */
  readonly condition: RawBuilder<boolean>;
  /** The member `"vehicle":{…}` of each. */
  readonly members: ReadonlyMap<number, string>;
}

/**
 * True for vehicles whose device reports a proprietary CAN protocol; without a device now, the last one counts, because
 * what it reported is still there. `vehicle` is the alias of the table.
 */
export const hasProprietaryCan = sql<boolean>`(
  select device_model.proprietary_can from device_link
  join device on device.id = device_link.device_id
  join device_model on device_model.id = device.model_id
  where device_link.vehicle_id = vehicle.id
  order by lower(device_link.period) desc nulls last limit 1)`;

async function findMembers(db: Database, condition: RawBuilder<boolean>): Promise<Map<number, string>> {
  const { rows } = await sql<{ id: number; member: string }>`
    select vehicle.id, ${vehicleMember} as member from vehicle where ${condition}`.execute(db);
  return new Map(rows.map(({ id, member }) => [id, member]));
}

function among(caller: Caller, ids: number[]): RawBuilder<boolean> {
  if (caller.userId !== undefined) return sql<boolean>`reading.vehicle_id = any(${ids}::integer[])`;
  // "is true" keeps this a filter with a hash table on the index of the application, which has the order of the answer.
  return sql<boolean>`reading.application_id = ${caller.applicationId}
    and (reading.vehicle_id in (select unnest(${ids}::integer[]))) is true`;
}

/** All vehicles the caller may see, or those of them for which `filter` holds. */
export async function scopeOfCaller(
  db: Database,
  caller: Caller,
  filter: RawBuilder<boolean> = sql<boolean>`true`,
): Promise<VehicleScope> {
  const members = await findMembers(db, sql<boolean>`${accessibleTo(caller)} and ${filter}`);
  return { condition: among(caller, [...members.keys()]), members };
}

/**
 * One vehicle.
 * @throws Failure UNKNOWN_VEHICLE; NO_DATA when `filter` does not hold for it
 */
export async function scopeOfVehicle(
  db: Database,
  caller: Caller,
  vehicleId: string,
  filter: RawBuilder<boolean> = sql<boolean>`true`,
): Promise<VehicleScope> {
  const { id } = await findVehicle(db, caller, vehicleId);
  const members = await findMembers(db, sql<boolean>`vehicle.id = ${id} and ${filter}`);
  if (members.size === 0) throw new Failure('NO_DATA');
  return { condition: sql<boolean>`reading.vehicle_id = ${id}`, members };
}
