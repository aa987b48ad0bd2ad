import { type Caller, type Operator, seesApplication, type Viewer } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { inGroups } from './vehicle-groups.ts';

const vehicleIdForm = /^[1-9]\d{9}$/;
const maxInteger = 2_147_483_647;

/** Parses a vehicle id of the interface, ten digits; undefined for any other text. */
export function parseVehicleId(id: string): number | undefined {
  if (!vehicleIdForm.test(id)) return undefined;
  const number = Number(id);
  return number <= maxInteger ? number : undefined;
}

/** The roles of a grant for a vehicle or group, in ascending order: each includes the rights of the previous ones. */
export const grantRoles = ['viewer', 'driver', 'manager'] as const;
export type GrantRole = (typeof grantRoles)[number];

/**
 * An action of a caller on a vehicle. In application mode everything is permitted; in user mode:
 * - `read` needs the role viewer;
 * - `book` needs the role driver: own bookings and authorizations;
 * - `use` needs the role manager, or the role driver and an own booking or authorization that is current: commands,
 *   states, privacy;
 * - `drive` is `use` for commands that start or immobilize the vehicle: the authorization must have the level DRIVE;
 * - `manage` needs the role manager: bookings and authorizations of others, and the vehicle itself.
 */
export type VehicleAct = 'read' | 'book' | 'use' | 'drive' | 'manage';

/** SQL that is true if the text `name` names the user, by id or by username in any case, as bookings name drivers. */
export function namesUser(userId: string, name: RawBuilder<string>): RawBuilder<boolean> {
  return sql<boolean>`exists (select from user_account
    where user_account.id = ${userId} and lower(${name}) in (user_account.id::text, lower(user_account.username)))`;
}

const hasCurrentBooking = (userId: string) => sql<boolean>`exists (select from booking
  where booking.vehicle_id = vehicle.id and booking.account_id = ${userId} and booking.deleted_at is null
    and tstzrange(booking.starts_at, booking.ends_at) @> clock_timestamp())`;

const hasCurrentAuthorization = (userId: string, levels: RawBuilder<unknown>) => sql<boolean>`exists (
  select from bluetooth_authorization held
  where held.vehicle_id = vehicle.id and held.level in ${levels} and held.revoked_at is null
    and tstzrange(held.valid_from, held.valid_until) @> clock_timestamp()
    and coalesce(held.suspended_until <= clock_timestamp(), true) and ${namesUser(userId, sql`held.driver_id`)})`;

/** SQL on the table `vehicle_access` that is true if its role permits an act. */
function rolePermits(userId: string, act: VehicleAct): RawBuilder<boolean> {
  if (act === 'read') return sql<boolean>`true`;
  if (act === 'book') return sql<boolean>`vehicle_access.role in ('driver', 'manager')`;
  if (act === 'manage') return sql<boolean>`vehicle_access.role = 'manager'`;
  const levels = act === 'drive' ? sql`('DRIVE')` : sql`('DRIVE', 'LOCK_UNLOCK')`;
  return sql<boolean>`(vehicle_access.role = 'manager' or (vehicle_access.role = 'driver'
    and (${hasCurrentBooking(userId)} or ${hasCurrentAuthorization(userId, levels)})))`;
}

/**
 * The access rule: SQL on the alias `vehicle` that is true for the vehicles with which the caller may do something.
 * Application mode covers the vehicles of the application that are not deleted, user mode those among them with a grant of
 * the vehicle or of a group that it is in: the table `vehicle_access`, which triggers of migrations/0013_groups.sql keep.
 */
export function accessibleTo(caller: Caller, act: VehicleAct = 'read'): RawBuilder<boolean> {
  const { applicationId, userId } = caller;
  const ofApplication = sql<boolean>`vehicle.application_id = ${applicationId} and vehicle.deleted_at is null`;
  if (userId === undefined) return sql<boolean>`(${ofApplication})`;
  return sql<boolean>`(${ofApplication} and exists (select 1 from vehicle_access
    where vehicle_access.user_id = ${userId} and vehicle_access.vehicle_id = vehicle.id and ${rolePermits(userId, act)}))`;
}

/**
 * The access rule of a person who may see vehicles of several applications: SQL on the alias `vehicle`, which is true for the
 * vehicles that the person sees and that are not deleted, in the groups that the viewer is limited to.
 */
export function visibleTo({ applicationIds, userId, groups = [] }: Viewer): RawBuilder<boolean> {
  const ofApplications =
    applicationIds === undefined ? sql`` : sql`and vehicle.application_id = any (${[...applicationIds]}::integer[])`;
  const granted =
    userId === undefined
      ? sql``
      : sql`and exists (select from vehicle_access
          where vehicle_access.user_id = ${userId} and vehicle_access.vehicle_id = vehicle.id)`;
  const inEach = groups.map((ids) => sql` and ${inGroups(ids)}`);
  return sql<boolean>`(vehicle.deleted_at is null ${ofApplications} ${granted} ${inEach.length > 0 ? sql.join(inEach, sql` `) : sql``})`;
}

/** A vehicle that the caller has access to. */
export interface AccessibleVehicle {
  id: number;
  archived: boolean;
}

/**
 * Finds a vehicle by its id and checks that the caller may do something with it.
 * @throws Failure UNKNOWN_VEHICLE if it is missing, deleted, of another application or without a grant; UNAUTHORIZED if
 * the role of the grant does not permit the act
 */
export async function findVehicle(
  db: Database,
  caller: Caller,
  id: string,
  act: VehicleAct = 'read',
): Promise<AccessibleVehicle> {
  const number = parseVehicleId(id);
  if (number === undefined) throw new Failure('UNKNOWN_VEHICLE');
  const row = await db
    .selectFrom('vehicle')
    .select(['id', 'archived_at', accessibleTo(caller, act).as('permitted')])
    .where('id', '=', number)
    .where(accessibleTo(caller))
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  requirePermission(row.permitted);
  return { id: row.id, archived: row.archived_at !== null };
}

/**
 * Locks a vehicle until the end of the transaction, against bookings, new authorizations, archiving, state flags and
 * the end of a grant, and finds it. The grant is read after the lock, or a revocation in flight would go unnoticed.
 * @throws Failure as findVehicle does
 */
export async function findLockedVehicle(
  db: Database,
  caller: Caller,
  id: string,
  act: VehicleAct,
): Promise<AccessibleVehicle> {
  await sql`select from vehicle where id = ${parseVehicleId(id) ?? null} and application_id = ${caller.applicationId}
    for no key update`.execute(db);
  return findVehicle(db, caller, id, act);
}

/**
 * Finds the application that owns a device, as far as an operator sees it; null without an owner.
 * @throws Failure UNKNOWN_DEVICE
 */
export async function findDeviceOwner(db: Database, operator: Operator, deviceId: string): Promise<number | null> {
  const row = await db
    .selectFrom('device')
    .select('application_id')
    .where('id', '=', deviceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row || !seesApplication(operator, row.application_id)) throw new Failure('UNKNOWN_DEVICE');
  return row.application_id;
}

/** Finds the application of a vehicle that an operator sees. @throws Failure UNKNOWN_VEHICLE */
export async function findVehicleOwner(db: Database, operator: Operator, vehicleId: string): Promise<number> {
  const row = await db
    .selectFrom('vehicle')
    .select('application_id')
    .where('id', '=', parseVehicleId(vehicleId) ?? 0)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  if (!row || !seesApplication(operator, row.application_id)) throw new Failure('UNKNOWN_VEHICLE');
  return row.application_id;
}

/**
 * Finds a vehicle that a person sees. @returns its id in the database
 * @throws Failure UNKNOWN_VEHICLE if it is missing, deleted or not visible
 */
export async function findVisibleVehicle(db: Database, viewer: Viewer, id: string): Promise<number> {
  const row = await db
    .selectFrom('vehicle')
    .select('id')
    .where('id', '=', parseVehicleId(id) ?? 0)
    .where(visibleTo(viewer))
    .executeTakeFirst();
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  return row.id;
}

/** Throws unless the act is permitted. @throws Failure UNAUTHORIZED */
export function requirePermission(permitted: boolean): void {
  if (!permitted) throw new Failure('UNAUTHORIZED', 'the role of the user on this vehicle does not permit this');
}

/**
 * Checks that the caller may change what belongs to the application as a whole: in user mode it needs a grant of role
 * manager for one of its vehicles.
 * @throws Failure UNAUTHORIZED
 */
export async function requireManager(db: Database, caller: Caller): Promise<void> {
  if (caller.userId === undefined) return;
  const managed = await db
    .selectFrom('vehicle')
    .select('id')
    .where(accessibleTo(caller, 'manage'))
    .limit(1)
    .executeTakeFirst();
  if (!managed) throw new Failure('UNAUTHORIZED', 'this needs the role manager');
}

/** Makes the key lists of these vehicles' devices due, in the transaction of the change. */
export async function raiseListVersions(db: Database, vehicleIds: readonly number[]): Promise<void> {
  // One lock order prevents deadlocks between transactions that raise several.
  await sql`with due as (
      select device_id from device_key where device_id in (
        select device_id from device_link where vehicle_id = any(${vehicleIds}::integer[]) and upper_inf(period))
      order by device_id for no key update)
    update device_key set list_version = list_version + 1 from due where due.device_id = device_key.device_id`.execute(
    db,
  );
}
