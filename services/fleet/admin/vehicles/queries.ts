import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { sql } from 'kysely';

/** The description of a vehicle. */
export interface VehicleDescription {
  plate: string;
  vin: string;
  brand: string;
  model: string;
  energy: string;
  seats: number;
  gearbox: '' | 'AUTOMATIC' | 'MANUAL';
  kind: string;
  accessories: string[];
}

export interface ListedVehicle extends VehicleDescription {
  id: string;
  archived: boolean;
  deviceId: string | null;
}

const plateIsTaken = 'the application has a vehicle with these letters and digits in its plate already';

/**
 * Creates a vehicle. @returns its id, ten digits
 * @throws Failure ALREADY_EXISTS if the application has a vehicle with the same letters and digits in its plate
 */
export async function createVehicle(
  db: Database,
  applicationId: number,
  description: VehicleDescription,
): Promise<string> {
  const { id } = await failOnConstraint({ vehicle_plate: ['ALREADY_EXISTS', plateIsTaken] }, () =>
    db
      .insertInto('vehicle')
      .values({ application_id: applicationId, ...description })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return String(id);
}

/** Sets the fuel tank capacity of a vehicle. */
export async function setTankLitres(db: Database, id: string, tankLitres: number): Promise<void> {
  await sql`update vehicle set tank_litres = ${tankLitres} where id = ${parseVehicleId(id) ?? 0}`.execute(db);
}

/** Lists the vehicles of an application by id, at most `limit` after the id `after`. */
export async function listVehicles(
  db: Database,
  applicationId: number,
  { after, limit }: { after: number; limit: number },
): Promise<ListedVehicle[]> {
  const rows = await db
    .selectFrom('vehicle')
    .leftJoin('device_link', (join) =>
      join.onRef('device_link.vehicle_id', '=', 'vehicle.id').on(sql<boolean>`upper_inf(device_link.period)`),
    )
    .select(['vehicle.id', 'plate', 'vin', 'brand', 'model', 'energy', 'seats', 'gearbox', 'kind', 'accessories'])
    .select(['archived_at', 'device_link.device_id'])
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .where('vehicle.id', '>', after)
    .orderBy('vehicle.id')
    .limit(limit)
    .execute();
  return rows.map(({ id, archived_at, device_id, gearbox, ...row }) => ({
    ...row,
    id: String(id),
    gearbox: gearbox as VehicleDescription['gearbox'],
    archived: archived_at !== null,
    deviceId: device_id,
  }));
}
