import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { KnownVehicle } from './sources/platform-source.ts';

/**
 * What the platform knows of a vehicle of the caller.
 * @throws Failure UNKNOWN_VEHICLE for a missing, deleted or foreign one alike
 */
export async function findKnownVehicle(db: Database, caller: Caller, vehicleId: string): Promise<KnownVehicle> {
  const { id } = await findVehicle(db, caller, vehicleId);
  return db
    .selectFrom('vehicle')
    .select(['plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}
