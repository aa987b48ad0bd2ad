import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/text-patterns';
import type { Database } from '@odograph/database/database';
import { type AccessibleVehicle, accessibleTo, findLockedVehicle, namesUser } from '@odograph/database/vehicle-access';
import type { Level } from '@odograph/keyless/token';
import { type RawBuilder, sql } from 'kysely';
import type { ListPart } from '../shared/list-stream.ts';
import type { AuthorizationTimes, Category, Interval } from './rules.ts';

/** An authorization that is neither revoked nor replaced. */
export interface Authorization extends AuthorizationTimes {
  readonly id: string;
  readonly vehicleId: number;
  /** Whether the vehicle is archived. */
  readonly archived: boolean;
  readonly driverId: string;
  readonly level: Level;
}

type AuthorizationRow = Omit<Authorization, 'suspendedUntil'> & { suspendedUntil: Date | null };

const columns = sql`grant_.id, grant_.vehicle_id as "vehicleId", vehicle.archived_at is not null as archived,
  grant_.driver_id as "driverId", grant_.level, grant_.valid_from as "from", grant_.valid_until as until,
  grant_.suspended_until as "suspendedUntil"`;
const source = sql`bluetooth_authorization grant_ join vehicle on vehicle.id = grant_.vehicle_id`;

/** SQL that is true for the authorizations that a caller may see: in user mode its own, as a manager those of the vehicle. */
export function isVisibleTo(caller: Caller): RawBuilder<boolean> {
  if (caller.userId === undefined) return accessibleTo(caller);
  const own = namesUser(caller.userId, sql<string>`grant_.driver_id`);
  return sql<boolean>`(${accessibleTo(caller, 'manage')} or (${own} and ${accessibleTo(caller)}))`;
}

/**
 * SQL that is true for the authorizations of a driver. Accounts of the application match by id or user name, in any
 * case; a deleted account does not match if another account has its name now. Other drivers match by the exact text.
 */
export function isOfDriver({ applicationId }: Caller, driverId: string): RawBuilder<boolean> {
  // An array is computed once per statement and can be looked up in an index; a join or `exists` here cannot.
  return sql<boolean>`(grant_.driver_id = ${driverId} or lower(grant_.driver_id) = any (array(
    select unnest(array[account.id::text, lower(account.username)]) from user_account account
    where account.application_id = ${applicationId} and lower(${driverId}) in (account.id::text, lower(account.username))
      and (account.deleted_at is null or not exists (select from user_account another
        where another.application_id = ${applicationId} and another.deleted_at is null
          and lower(another.username) = lower(account.username))))))`;
}

async function selectOne(db: Database, caller: Caller, id: string, lock: RawBuilder<unknown>): Promise<Authorization> {
  if (!isUuid(id)) throw new Failure('UNKNOWN_AUTHORIZATION');
  const { rows } = await sql<AuthorizationRow>`select ${columns} from ${source}
    where grant_.id = ${id} and grant_.revoked_at is null and ${isVisibleTo(caller)} ${lock}`.execute(db);
  if (!rows[0]) throw new Failure('UNKNOWN_AUTHORIZATION');
  return { ...rows[0], suspendedUntil: rows[0].suspendedUntil ?? undefined };
}

/** Finds an authorization. @throws Failure UNKNOWN_AUTHORIZATION when missing, revoked, replaced or not visible alike */
export async function findAuthorization(db: Database, caller: Caller, id: string): Promise<Authorization> {
  return selectOne(db, caller, id, sql``);
}

/** A locked vehicle. */
export interface LockedVehicle extends AccessibleVehicle {
  /** Whether the caller may manage bookings and authorizations of others. */
  readonly isManaged: boolean;
}

async function isManagedBy(db: Database, caller: Caller, id: number): Promise<boolean> {
  if (caller.userId === undefined) return true;
  const managed = accessibleTo(caller, 'manage');
  const row = await db.selectFrom('vehicle').select('id').where('id', '=', id).where(managed).executeTakeFirst();
  return row !== undefined;
}

/**
 * Locks a vehicle for bookings and authorizations until the end of the transaction.
 * @throws Failure UNKNOWN_VEHICLE; UNAUTHORIZED when the role of the grant permits no bookings or authorizations
 */
export async function lockVehicle(db: Database, caller: Caller, id: string): Promise<LockedVehicle> {
  const vehicle = await findLockedVehicle(db, caller, id, 'book');
  return { ...vehicle, isManaged: await isManagedBy(db, caller, vehicle.id) };
}

/**
 * Finds an authorization, and locks it and its vehicle until the end of the transaction.
 * @throws Failure UNKNOWN_AUTHORIZATION; UNAUTHORIZED when the role of the grant does not permit changes
 */
export async function lockAuthorization(db: Database, caller: Caller, id: string): Promise<Authorization> {
  const { vehicleId } = await findAuthorization(db, caller, id);
  await lockVehicle(db, caller, String(vehicleId));
  return selectOne(db, caller, id, sql`for no key update of grant_`);
}

async function findLatestId(db: Database, id: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`select latest_authorization(${id}) as id`.execute(db);
  return rows[0]?.id ?? id;
}

async function lockIfPresent(db: Database, caller: Caller, id: string): Promise<Authorization | undefined> {
  try {
    return await lockAuthorization(db, caller, id);
  } catch (error) {
    if (error instanceof Failure && error.code === 'UNKNOWN_AUTHORIZATION') return undefined;
    throw error;
  }
}

/** Locks the authorization of a booking, or its latest replacement. @returns undefined when it was revoked */
export async function lockLatestAuthorization(
  db: Database,
  applicationId: number,
  firstId: string,
): Promise<Authorization | undefined> {
  let id = await findLatestId(db, firstId);
  for (;;) {
    const authorization = await lockIfPresent(db, { applicationId }, id);
    if (authorization) return authorization;
    // A concurrent update may have replaced it while this transaction waited for the lock.
    const replacement = await findLatestId(db, id);
    if (replacement === id) return undefined;
    id = replacement;
  }
}

/** An authorization as it is issued. */
export interface NewAuthorization extends Interval {
  readonly id: string;
  readonly vehicleId: number;
  readonly driverId: string;
  readonly level: Level;
  readonly suspendedUntil?: Date | undefined;
}

/** @param issuedBy the account of the user who issues it; null in application mode */
export async function insertAuthorization(
  db: Database,
  authorization: NewAuthorization,
  issuedBy: string | null,
  now: Date,
): Promise<void> {
  await db
    .insertInto('bluetooth_authorization')
    .values({
      id: authorization.id,
      vehicle_id: authorization.vehicleId,
      driver_id: authorization.driverId,
      level: authorization.level,
      valid_from: authorization.from,
      valid_until: authorization.until,
      suspended_until: authorization.suspendedUntil ?? null,
      issued_by: issuedBy,
      created_at: now,
    })
    .execute();
}

/** Marks an authorization as revoked, or as replaced by another. */
export async function markRevoked(db: Database, id: string, now: Date, replacedBy?: string): Promise<void> {
  await db
    .updateTable('bluetooth_authorization')
    .set({ revoked_at: now, replaced_by: replacedBy ?? null })
    .where('id', '=', id)
    .execute();
}

export async function setSuspension(db: Database, id: string, until: Date | null): Promise<void> {
  await db.updateTable('bluetooth_authorization').set({ suspended_until: until }).where('id', '=', id).execute();
}

/** Counts the authorizations of a vehicle that end after a time, revoked ones included. @param userId counts only those of a user */
export async function countEndingAfter(db: Database, vehicleId: number, since: Date, userId?: string): Promise<number> {
  const { count } = await db
    .selectFrom('bluetooth_authorization')
    .select(sql<number>`count(*)`.as('count'))
    .where('vehicle_id', '=', vehicleId)
    .where('valid_until', '>', since)
    .where(userId === undefined ? sql<boolean>`true` : namesUser(userId, sql<string>`driver_id`))
    .executeTakeFirstOrThrow();
  return count;
}

const inCategory = (category: Category, now: Date): RawBuilder<boolean> =>
  ({
    scheduled: sql<boolean>`grant_.valid_from > ${now}`,
    current: sql<boolean>`grant_.valid_from <= ${now} and grant_.valid_until > ${now}`,
    expired: sql<boolean>`grant_.valid_until <= ${now}`,
  })[category];

/** Selects a list: of one vehicle, of one driver, or of all that the caller may see. */
export interface ListFilter {
  readonly category: Category;
  readonly vehicleId?: number;
  readonly driverId?: string;
}

/** An entry of a list of authorizations. */
export interface ListedAuthorization extends Interval {
  readonly id: string;
  /** The exact start, to the microsecond, by which the list is ordered. */
  readonly position: string;
}

/** Reads a part of a list of the authorizations that the caller may see. */
export async function listAuthorizations(
  db: Database,
  caller: Caller,
  { category, vehicleId, driverId }: ListFilter,
  { now, offset, after, count }: ListPart<ListedAuthorization> & { readonly now: Date },
): Promise<ListedAuthorization[]> {
  const ofVehicle = vehicleId === undefined ? sql`true` : sql`grant_.vehicle_id = ${vehicleId}`;
  const ofDriver = driverId === undefined ? sql`true` : isOfDriver(caller, driverId);
  const isAfter = after && sql`(grant_.valid_from, grant_.id) > (${after.position}::timestamptz, ${after.id}::uuid)`;
  const { rows } = await sql<ListedAuthorization>`select grant_.id, grant_.valid_from as "from",
      grant_.valid_until as until, grant_.valid_from::text as position
    from ${source}
    where grant_.revoked_at is null and ${ofVehicle} and ${ofDriver} and ${inCategory(category, now)}
      and ${isVisibleTo(caller)} and ${isAfter ?? sql`true`}
    order by grant_.valid_from, grant_.id limit ${count} offset ${after ? 0 : offset}`.execute(db);
  return rows;
}
