import { randomInt } from 'node:crypto';
import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { type AuditOrigin, appendAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { raiseIngestBarrier } from '@odograph/database/ingest-barrier';
import type { Tables } from '@odograph/database/tables';
import { accessibleTo, findLockedVehicle, requirePermission } from '@odograph/database/vehicle-access';
import { equalSecrets, hashSecret } from '@odograph/runtime/secrets';
import { type Kysely, sql } from 'kysely';

/** A device and the vehicle it is to be linked to. */
interface LinkTarget {
  deviceId: string;
  vehicleId: string;
  /** Required for a device without an owner. */
  claimCode?: string | undefined;
}

/** The vehicle that a device was linked to before a change, and after it. */
export interface LinkChange {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/**
 * Runs link changes in a transaction that excludes ingest. So a change has one time: earlier readings belong to the old
 * vehicle, later ones to the new vehicle.
 */
export async function changeLinks<T>(db: Kysely<Tables>, change: (trx: Database) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (trx) => {
    await raiseIngestBarrier(trx);
    return change(trx);
  });
}

/**
 * Links a device to a vehicle, neither of them linked; run it in changeLinks. A device without an owner becomes the
 * application's.
 * @throws Failure UNKNOWN_DEVICE, INVALID_CLAIM_CODE, UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED, DEVICE_ALREADY_LINKED,
 * VEHICLE_ALREADY_LINKED (interface specification, "Vehicles and devices")
 */
export async function linkDevice(db: Database, caller: Caller, target: LinkTarget): Promise<LinkChange> {
  const { device, vehicle } = await findTarget(db, caller, target);
  if (device.vehicleId !== null) throw new Failure('DEVICE_ALREADY_LINKED');
  await requireFree(db, vehicle);
  await open(db, caller, device, vehicle, await timeOfChange(db, device.id, vehicle));
  return { to: vehicle };
}

/**
 * Moves a device to a vehicle without a device; run it in changeLinks. Moving it to its own vehicle changes nothing.
 * @throws Failure UNKNOWN_DEVICE, INVALID_CLAIM_CODE, UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED,
 * VEHICLE_ALREADY_LINKED
 */
export async function moveDevice(db: Database, caller: Caller, target: LinkTarget): Promise<LinkChange> {
  const { device, vehicle } = await findTarget(db, caller, target);
  const change = { from: device.vehicleId ?? undefined, to: vehicle };
  if (device.vehicleId === vehicle) return change;
  await requireFree(db, vehicle);
  const time = await timeOfChange(db, device.id, vehicle);
  await close(db, device.id, time);
  await open(db, caller, device, vehicle, time);
  return change;
}

/**
 * Ends the link of a device, if it has one; run it in changeLinks.
 * @throws Failure UNKNOWN_DEVICE, also for a device without an owner
 */
export async function unlinkDevice(db: Database, caller: Caller, deviceId: string): Promise<LinkChange> {
  const device = await lockDevice(db, caller, deviceId);
  if (!device.owned) throw new Failure('UNKNOWN_DEVICE');
  if (device.vehicleId === null) return {};
  await endLink(db, deviceId, device.vehicleId);
  return { from: device.vehicleId };
}

/** Ends the open link of a device to a vehicle; run it in changeLinks. */
export async function endLink(db: Database, deviceId: string, vehicleId: number): Promise<void> {
  await close(db, deviceId, await timeOfChange(db, deviceId, vehicleId));
}

interface Device {
  id: string;
  owned: boolean;
  claimCodeSha256: Buffer | null;
  /** The vehicle it is linked to. */
  vehicleId: number | null;
  neverLinked: boolean;
}

/**
 * Locks a device of the caller's application or without an owner.
 * @throws Failure UNKNOWN_DEVICE, also if it is linked to a vehicle hidden from the caller; UNAUTHORIZED if the caller
 * does not manage that vehicle
 */
async function lockDevice(db: Database, caller: Caller, id: string): Promise<Device> {
  const { rows } = await sql<Device & { accessible: boolean; managed: boolean }>`
    select device.id, device.application_id is not null as owned, device.claim_code_sha256 as "claimCodeSha256",
      device_link.vehicle_id as "vehicleId",
      coalesce(${accessibleTo(caller)}, false) as accessible,
      coalesce(${accessibleTo(caller, 'manage')}, false) as managed,
      device.left_deleted_vehicle_at is null
        and not exists (select from device_link past where past.device_id = device.id) as "neverLinked"
    from device
    left join device_link on device_link.device_id = device.id and upper_inf(device_link.period)
    left join vehicle on vehicle.id = device_link.vehicle_id
    where device.id = ${id} and device.deleted_at is null
      and (device.application_id is null or device.application_id = ${caller.applicationId})
    for no key update of device`.execute(db);
  const [row] = rows;
  if (!row || (row.vehicleId !== null && !row.accessible)) throw new Failure('UNKNOWN_DEVICE');
  requirePermission(row.vehicleId === null || row.managed);
  return row;
}

/** Locks the vehicle and the device of a new link. A device without an owner requires its claim code. */
async function findTarget(db: Database, caller: Caller, { deviceId, vehicleId, claimCode }: LinkTarget) {
  // Same lock order as issuing an authorization, which locks the vehicle before it creates the device key: avoids a deadlock.
  const vehicle = await lockActiveVehicle(db, caller, vehicleId);
  const device = await lockDevice(db, caller, deviceId);
  if (!device.owned) requireClaimCode(claimCode, device.claimCodeSha256);
  return { device, vehicle };
}

/** Locks and finds the vehicle of a new link. @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED */
async function lockActiveVehicle(db: Database, caller: Caller, id: string): Promise<number> {
  // A suspension in flight does not see the new link; it must be committed before the device's key list is read.
  const vehicle = await findLockedVehicle(db, caller, id, 'manage');
  if (vehicle.archived) throw new Failure('VEHICLE_ARCHIVED');
  return vehicle.id;
}

/** Finds the device that is linked to a vehicle. */
export async function findLinkedDevice(db: Database, vehicleId: number): Promise<string | undefined> {
  const link = await db
    .selectFrom('device_link')
    .select('device_id')
    .where('vehicle_id', '=', vehicleId)
    .where(sql<boolean>`upper_inf(period)`)
    .executeTakeFirst();
  return link?.device_id;
}

async function requireFree(db: Database, vehicleId: number): Promise<void> {
  if ((await findLinkedDevice(db, vehicleId)) !== undefined) throw new Failure('VEHICLE_ALREADY_LINKED');
}

/**
 * The current time as text with microseconds. Never before an earlier change of the device or of the vehicles, even if
 * the clock was set back.
 */
async function timeOfChange(db: Database, deviceId: string, vehicleId: number): Promise<string> {
  const { rows } = await sql<{ time: string }>`
    select greatest(clock_timestamp(), max(lower(period)), max(upper(period)))::text as time
    from device_link
    where device_id = ${deviceId} or vehicle_id = ${vehicleId} or vehicle_id in (
      select vehicle_id from device_link where device_id = ${deviceId} and upper_inf(period))`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('an aggregate has one row');
  return row.time;
}

async function close(db: Database, deviceId: string, time: string): Promise<void> {
  // Deletes a zero-length interval.
  await sql`delete from device_link
    where device_id = ${deviceId} and upper_inf(period) and lower(period) >= ${time}::timestamptz`.execute(db);
  await sql`update device_link set period = tstzrange(lower(period), ${time}::timestamptz)
    where device_id = ${deviceId} and upper_inf(period)`.execute(db);
}

/**
 * Opens a link. The first link of a device starts where the previous link of the vehicle ended, or is unbounded without
 * one, because the device may have recorded before it was registered. Every later link starts at the time of the change.
 */
async function open(db: Database, caller: Caller, device: Device, vehicleId: number, time: string): Promise<void> {
  await sql`insert into device_link (device_id, vehicle_id, period)
    select ${device.id}, ${vehicleId}, tstzrange(
      case when ${device.neverLinked} then (select max(upper(period)) from device_link where vehicle_id = ${vehicleId})
      else ${time}::timestamptz end, null)`.execute(db);
  await db
    .updateTable('device')
    .set({ application_id: caller.applicationId, claim_code_sha256: null })
    .where('id', '=', device.id)
    .where('application_id', 'is', null)
    .execute();
}

/** Lists the vehicles of a link change. */
export function vehiclesOf({ from, to }: LinkChange): number[] {
  return [from, to].filter((id) => id !== undefined);
}

function actionOf({ from, to }: LinkChange): string {
  if (to === undefined) return 'device.unlink';
  return from === undefined ? 'device.link' : 'device.move';
}

/** Records a link change in the audit; run it in the transaction of the change. @returns the change */
export async function recordLinkChange(
  db: Database,
  origin: AuditOrigin,
  deviceId: string,
  change: LinkChange,
): Promise<LinkChange> {
  const { from, to } = change;
  await appendAudit(db, {
    ...origin,
    action: actionOf(change),
    subject: `device:${deviceId}`,
    details: { from: from === undefined ? null : String(from), to: to === undefined ? null : String(to) },
    outcome: from === to ? 'unchanged' : 'done',
  });
  return change;
}

/** Without characters that are easily confused; 16 of them have 78 bits. */
const alphabet = 'ABCDEFGHJKMNPQRSTVWXYZ23456789';
const groups = 4;
const groupLength = 4;

/** Creates a claim code to be printed on a device or its packaging, such as `7KQM-XW3A-94TF-BCPR`. */
export function createClaimCode(): string {
  const group = () => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return Array.from({ length: groups }, group).join('-');
}

/** Hashes a claim code for storage; case, spaces and hyphens do not count. */
export function hashClaimCode(code: string): Buffer {
  return hashSecret(code.toUpperCase().replace(/[^A-Z0-9]/g, ''));
}

/** Checks the claim code of a device without an owner. @throws Failure INVALID_CLAIM_CODE */
function requireClaimCode(presented: string | undefined, stored: Buffer | null): void {
  if (stored === null || presented === undefined || !equalSecrets(hashClaimCode(presented), stored)) {
    throw new Failure('INVALID_CLAIM_CODE', undefined, { field: 'claimCode' });
  }
}
