import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

const vehicleIdForm = /^[1-9]\d{9}$/;
const largestInteger = 2_147_483_647;

/** A vehicle id as the interface writes it, as the number in the database; undefined for text that cannot be one. */
export function parseVehicleId(id: string): number | undefined {
  if (!vehicleIdForm.test(id)) return undefined;
  const number = Number(id);
  return number <= largestInteger ? number : undefined;
}

/**
 * The one access rule: SQL that is true for the vehicles the caller may see, `vehicle` being the alias of the table.
 * Application mode sees every vehicle of the application that is not deleted, user mode those of them it is granted.
 */
export function accessibleTo(caller: Caller): RawBuilder<boolean> {
  const ofApplication = sql<boolean>`vehicle.application_id = ${caller.applicationId} and vehicle.deleted_at is null`;
  if (caller.userId === undefined) return ofApplication;
  return sql<boolean>`${ofApplication} and exists (select 1 from vehicle_grant
    where vehicle_grant.user_id = ${caller.userId} and vehicle_grant.vehicle_id = vehicle.id)`;
}

/** What every route needs to know of the vehicle in its path. */
export interface AccessibleVehicle {
  id: number;
  archived: boolean;
}

/**
 * The vehicle with this id, if the caller may see it.
 * @throws Failure UNKNOWN_VEHICLE for a missing, deleted or foreign one alike
 */
export async function findVehicle(db: Database, caller: Caller, id: string): Promise<AccessibleVehicle> {
  const number = parseVehicleId(id);
  if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
  const row = await db
    .selectFrom('vehicle')
    .select(['id', 'archived_at'])
    .where('id', '=', number)
    .where(accessibleTo(caller))
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  return { id: row.id, archived: row.archived_at !== null };
}
