import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findLockedVehicle, parseVehicleId, requireManager } from '@odograph/database/vehicle-access';
import { hasPlate } from '@odograph/database/vehicle-conditions';
import { VehicleId, word } from '@odograph/http/schemas';
import { type RawBuilder, sql } from 'kysely';
import Type, { type Static } from 'typebox';
import { accessories } from '../common/vehicle-description.ts';
import { endLink, findLinkedDevice } from '../devices/links.ts';
import { endSharesOf } from '../shares/queries.ts';

/** A vehicle with the field names of the interface specification, "Fleet vehicle detail". */
export const VehicleDetail = Type.Object(
  {
    Id: VehicleId,
    builder: Type.String({ examples: ['Renault'] }),
    model: Type.String({ examples: ['Zoe'] }),
    plate: Type.String({ examples: ['AB-123-CD'] }),
    energy: Type.String({ examples: ['EL'] }),
    bluetoothName: Type.String({ examples: ['ODO-0001'] }),
    deviceId: Type.String({ description: 'empty without a device', examples: ['unit-0001'] }),
    deviceModel: Type.String({ examples: ['generic'] }),
    accessories: Type.Array(word(accessories)),
  },
  { title: 'FleetVehicleDetail' },
);
type VehicleDetail = Static<typeof VehicleDetail>;

async function findDetail(db: Database, caller: Caller, condition: RawBuilder<boolean>): Promise<VehicleDetail> {
  const { rows } = await sql<VehicleDetail>`
    select vehicle.id::text as "Id", vehicle.brand as builder, vehicle.model, vehicle.plate, vehicle.energy,
      coalesce(device.bluetooth_name, '') as "bluetoothName", coalesce(device.id, '') as "deviceId",
      coalesce(device.model_id, '') as "deviceModel", vehicle.accessories
    from vehicle
    left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
    left join device on device.id = device_link.device_id
    where ${accessibleTo(caller)} and ${condition}`.execute(db);
  if (!rows[0]) throw new Failure('UNKNOWN_VEHICLE');
  return rows[0];
}

/** Finds a vehicle by its id. @throws Failure UNKNOWN_VEHICLE */
export async function findDetailById(db: Database, caller: Caller, id: string): Promise<VehicleDetail> {
  return findDetail(db, caller, sql<boolean>`vehicle.id = ${parseVehicleId(id) ?? null}`);
}

/** Finds a vehicle by the letters and digits of its plate. @throws Failure UNKNOWN_VEHICLE */
export async function findDetailByPlate(db: Database, caller: Caller, plate: string): Promise<VehicleDetail> {
  return findDetail(db, caller, hasPlate(plate));
}

/**
 * Locks a vehicle for a change of its states or privacy until the end of the transaction.
 * @returns its number in the database
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED
 */
export async function lockVehicleForUse(db: Database, caller: Caller, id: string): Promise<number> {
  const { id: vehicleId, archived } = await findLockedVehicle(db, caller, id, 'use');
  if (archived) throw new Failure('VEHICLE_ARCHIVED');
  return vehicleId;
}

/**
 * Archives or reactivates a vehicle.
 * @returns whether it changed
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED
 */
export async function setArchived(db: Database, caller: Caller, id: string, archived: boolean): Promise<boolean> {
  const vehicle = await findLockedVehicle(db, caller, id, 'manage');
  const changed = vehicle.archived !== archived;
  if (changed) {
    const archived_at = archived ? sql<Date>`now()` : null;
    await db.updateTable('vehicle').set({ archived_at }).where('id', '=', vehicle.id).execute();
  }
  if (archived) await endSharesOf(db, vehicle.id);
  return changed;
}

/**
 * Deletes a vehicle: hides it, frees its device and plate, and schedules the purge of its data. Run it in changeLinks, so
 * that no reading is stored for it afterwards.
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED
 */
export async function deleteVehicle(db: Database, caller: Caller, id: string): Promise<void> {
  const { id: vehicleId } = await findLockedVehicle(db, caller, id, 'manage');
  await db
    .updateTable('vehicle')
    .set({ deleted_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', vehicleId)
    .execute();
  const deviceId = await findLinkedDevice(db, vehicleId);
  if (deviceId !== undefined) await endLink(db, deviceId, vehicleId);
  await db
    .insertInto('vehicle_purge')
    .values({ vehicle_id: vehicleId, application_id: caller.applicationId })
    .execute();
}

/** Stores a request for a vehicle. @returns its id. @throws Failure UNAUTHORIZED for a user who manages no vehicle */
export async function insertRequest(
  db: Database,
  caller: Caller,
  { plate, request }: { plate: string; request: string },
): Promise<string> {
  await requireManager(db, caller);
  const { id } = await db
    .insertInto('vehicle_request')
    .values({ application_id: caller.applicationId, user_id: caller.userId ?? null, plate, request })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
