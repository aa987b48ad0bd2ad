import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import type { Tables } from '@odograph/database/tables';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { type Kysely, sql } from 'kysely';

/** A device and the vehicle it is to sit in. */
export interface LinkTarget {
  deviceId: string;
  vehicleId: string;
}

/** The vehicle that a device sat in before a change, and the one that it sits in now, by number. */
export interface LinkChange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/**
 * Runs changes of links in a transaction of their own. No reading is placed meanwhile, so a change has one moment:
 * readings of before it belong to the old vehicle, readings of then and later to the new one.
 */
export async function changeLinks<T>(db: Kysely<Tables>, change: (trx: Database) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await raiseIngestBarrier(trx);
    return change(trx);
  });
}

/**
 * Links a device that has no vehicle to a vehicle that has no device; run it in changeLinks. A device without owner
 * becomes the application's.
 * @throws Failure UNKNOWN_DEVICE, UNKNOWN_VEHICLE, VEHICLE_NOT_AVAILABLE when archived, DEVICE_ALREADY_LINKED,
 * VEHICLE_ALREADY_LINKED (interface specification, "Vehicles and devices")
 */
export async function linkDevice(
  db: Database,
  caller: Caller,
  { deviceId, vehicleId }: LinkTarget,
): Promise<LinkChange> {
  const device = await lockDevice(db, caller, deviceId);
  const vehicle = await findOpenVehicle(db, caller, vehicleId);
  if (device.vehicleId !== undefined) throw new Failure('DEVICE_ALREADY_LINKED');
  await requireFree(db, vehicle);
  await open(db, caller, device, vehicle, await momentOfChange(db, deviceId, vehicle));
  return { to: vehicle };
}

/**
 * Moves a device from its vehicle, if it has one, to a vehicle that has no device; run it in changeLinks. Moving it to
 * the vehicle it sits in changes nothing.
 * @throws Failure UNKNOWN_DEVICE, UNKNOWN_VEHICLE, VEHICLE_NOT_AVAILABLE when archived, VEHICLE_ALREADY_LINKED
 */
export async function moveDevice(
  db: Database,
  caller: Caller,
  { deviceId, vehicleId }: LinkTarget,
): Promise<LinkChange> {
  const device = await lockDevice(db, caller, deviceId);
  const vehicle = await findOpenVehicle(db, caller, vehicleId);
  const change = { from: device.vehicleId, to: vehicle };
  if (device.vehicleId === vehicle) return change;
  await requireFree(db, vehicle);
  const moment = await momentOfChange(db, deviceId, vehicle);
  await close(db, deviceId, moment);
  await open(db, caller, device, vehicle, moment);
  return change;
}

/**
 * Ends the link of a device, if it has one; run it in changeLinks.
 * @throws Failure UNKNOWN_DEVICE, also for one that belongs to nobody
 */
export async function unlinkDevice(db: Database, caller: Caller, deviceId: string): Promise<LinkChange> {
  const device = await lockDevice(db, caller, deviceId);
  if (!device.owned) throw new Failure('UNKNOWN_DEVICE');
  if (device.vehicleId === undefined) return {};
  await endLink(db, deviceId, device.vehicleId);
  return { from: device.vehicleId };
}

/** Ends the link that a device has to a vehicle now; run it in changeLinks. */
export async function endLink(db: Database, deviceId: string, vehicleId: number): Promise<void> {
  await close(db, deviceId, await momentOfChange(db, deviceId, vehicleId));
}

interface Device {
  id: string;
  owned: boolean;
  /** The vehicle it sits in now. */
  vehicleId: number | undefined;
  /** Whether it never sat in a vehicle. */
  fresh: boolean;
}

interface DeviceRow {
  owned: boolean;
  vehicleId: number | null;
  accessible: boolean;
  fresh: boolean;
}

/** A device the caller may touch: of its application or of nobody, and not in a vehicle that is hidden from it. */
async function lockDevice(db: Database, caller: Caller, id: string): Promise<Device> {
  const { rows } = await sql<DeviceRow>`
    select device.application_id is not null as owned, device_link.vehicle_id as "vehicleId",
      coalesce(${accessibleTo(caller)}, false) as accessible,
      device.left_deleted_vehicle_at is null
        and not exists (select from device_link past where past.device_id = device.id) as fresh
    from device
    left join device_link on device_link.device_id = device.id and upper_inf(device_link.period)
    left join vehicle on vehicle.id = device_link.vehicle_id
    where device.id = ${id} and (device.application_id is null or device.application_id = ${caller.applicationId})
    for update of device`.execute(db);
  const [row] = rows;
  if (!row || (row.vehicleId !== null && !row.accessible)) throw new Failure('UNKNOWN_DEVICE');
  return { id, owned: row.owned, vehicleId: row.vehicleId ?? undefined, fresh: row.fresh };
}

async function findOpenVehicle(db: Database, caller: Caller, id: string): Promise<number> {
  const vehicle = await findVehicle(db, caller, id);
  if (vehicle.archived) throw new Failure('VEHICLE_NOT_AVAILABLE', 'the vehicle is archived');
  return vehicle.id;
}

async function requireFree(db: Database, vehicleId: number): Promise<void> {
  const link = await db
    .selectFrom('device_link')
    .select('device_id')
    .where('vehicle_id', '=', vehicleId)
    .where(sql<boolean>`upper_inf(period)`)
    .executeTakeFirst();
  if (link) throw new Failure('VEHICLE_ALREADY_LINKED');
}

/**
 * Now, as text with microseconds; never before an earlier change of the device or of one of the vehicles concerned,
 * also when the clock was set back.
 */
async function momentOfChange(db: Database, deviceId: string, vehicleId: number): Promise<string> {
  const { rows } = await sql<{ moment: string }>`
    select greatest(clock_timestamp(), max(lower(period)), max(upper(period)))::text as moment
    from device_link
    where device_id = ${deviceId} or vehicle_id = ${vehicleId} or vehicle_id in (
      select vehicle_id from device_link where device_id = ${deviceId} and upper_inf(period))`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('an aggregate has one row');
  return row.moment;
}

async function close(db: Database, deviceId: string, moment: string): Promise<void> {
  // A period that would hold no time was never.
  await sql`delete from device_link
    where device_id = ${deviceId} and upper_inf(period) and lower(period) >= ${moment}::timestamptz`.execute(db);
  await sql`update device_link set period = tstzrange(lower(period), ${moment}::timestamptz)
    where device_id = ${deviceId} and upper_inf(period)`.execute(db);
}

/**
 * The first link of a device reaches back to the end of the vehicle's previous one, without bound when there was none:
 * a box may have recorded before the operator entered it. Every later link begins at its moment.
 */
async function open(db: Database, caller: Caller, device: Device, vehicleId: number, moment: string): Promise<void> {
  await sql`insert into device_link (device_id, vehicle_id, period)
    select ${device.id}, ${vehicleId}, tstzrange(
      case when ${device.fresh} then (select max(upper(period)) from device_link where vehicle_id = ${vehicleId})
      else ${moment}::timestamptz end, null)`.execute(db);
  await db
    .updateTable('device')
    .set({ application_id: caller.applicationId })
    .where('id', '=', device.id)
    .where('application_id', 'is', null)
    .execute();
}
