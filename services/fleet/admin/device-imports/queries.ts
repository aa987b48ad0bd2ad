import type { Operator } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import { sql } from 'kysely';

/**
 * Finds the vehicle with a plate, in the named application or in all that the operator sees.
 * @throws Failure UNKNOWN_VEHICLE; INVALID_PARAMETER if several applications have one
 */
export async function findVehicleByPlate(
  db: Database,
  { applicationIds }: Operator,
  { appId }: { readonly appId?: string | undefined },
  plate: string,
): Promise<string> {
  const { rows } = await sql<{ id: string }>`select vehicle.id::text as id from vehicle
    join application on application.id = vehicle.application_id
    where vehicle.deleted_at is null and ${hasPlate(plate)}
      and (${appId ?? null}::text is null or application.app_id = ${appId ?? null}::text)
      and (${applicationIds === undefined} or application.id = any (${[...(applicationIds ?? [])]}::integer[]))
    limit 2`.execute(db);
  const [vehicle, another] = rows;
  if (!vehicle) throw new Failure('UNKNOWN_VEHICLE', 'no such vehicle', { field: 'plate' });
  if (another) throw invalidParameter('plate', 'names vehicles of several applications: give appId');
  return vehicle.id;
}
