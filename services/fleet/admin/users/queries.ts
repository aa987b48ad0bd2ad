import { type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { findVehicle, type GrantRole } from '@odograph/database/vehicle-access';
import { sql } from 'kysely';
import { endSessions } from '../../accounts/queries.ts';

export interface NewUser {
  applicationId: number;
  username: string;
  passwordHash: string;
  mustChangePassword: boolean;
}

const nameIsTaken = 'the application has a user of this name already, in upper or lower case';

/** Creates a user of an application. @throws Failure ALREADY_EXISTS if the name is taken, ignoring case */
export async function createUser(db: Database, user: NewUser): Promise<string> {
  const { id } = await failOnConstraint({ user_account_username: ['ALREADY_EXISTS', nameIsTaken] }, () =>
    db
      .insertInto('user_account')
      .values({
        application_id: user.applicationId,
        username: user.username,
        password_hash: user.passwordHash,
        must_change_password: user.mustChangePassword,
      })
      .returning('id')
      .executeTakeFirstOrThrow(),
  );
  return id;
}

/** A user with its grants. */
export interface ListedUser {
  userId: string;
  username: string;
  mustChangePassword: boolean;
  vehicleIds: string[];
  grants: { vehicleId: string; plate: string; role: GrantRole }[];
}

/** Lists the users of an application by name, with their grants. */
export async function listUsers(db: Database, applicationId: number): Promise<ListedUser[]> {
  const rows = await db
    .selectFrom('user_account')
    .leftJoin('vehicle_grant', 'vehicle_grant.user_id', 'user_account.id')
    .leftJoin('vehicle', 'vehicle.id', 'vehicle_grant.vehicle_id')
    .select(['user_account.id', 'username', 'must_change_password'])
    .select(
      sql<ListedUser['grants']>`coalesce(json_agg(
        json_build_object('vehicleId', vehicle_grant.vehicle_id::text, 'plate', vehicle.plate, 'role', vehicle_grant.role)
        order by vehicle_grant.vehicle_id) filter (where vehicle_grant.vehicle_id is not null), '[]')`.as('grants'),
    )
    .where('user_account.application_id', '=', applicationId)
    .where('user_account.deleted_at', 'is', null)
    .groupBy('user_account.id')
    .orderBy('username')
    .execute();
  return rows.map((row) => ({
    userId: row.id,
    username: row.username,
    mustChangePassword: row.must_change_password,
    vehicleIds: row.grants.map(({ vehicleId }) => vehicleId),
    grants: row.grants,
  }));
}

/** Finds the application of a user that an operator sees. @throws Failure UNKNOWN_USER */
async function applicationOf(db: Database, operator: Operator, userId: string): Promise<number> {
  const row = isUuid(userId)
    ? await db
        .selectFrom('user_account')
        .select('application_id')
        .where('id', '=', userId)
        .where('deleted_at', 'is', null)
        .executeTakeFirst()
    : undefined;
  if (!row || !seesApplication(operator, row.application_id)) throw new Failure('UNKNOWN_USER');
  return row.application_id;
}

interface NewGrant {
  readonly userId: string;
  readonly vehicleId: string;
  readonly role: GrantRole;
  readonly fromRole?: GrantRole | undefined;
}

/**
 * Grants a user access to a vehicle of its application, or changes the role of the grant.
 * @returns the application of both
 * @throws Failure UNKNOWN_USER, UNKNOWN_VEHICLE; CHANGED_MEANWHILE if the role is no longer `fromRole`
 */
export async function grantVehicle(
  db: Database,
  operator: Operator,
  { userId, vehicleId, role, fromRole }: NewGrant,
): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  const vehicle = await findVehicle(db, { applicationId }, vehicleId);
  if (fromRole !== undefined) {
    const grant = await db
      .selectFrom('vehicle_grant')
      .select('role')
      .where('user_id', '=', userId)
      .where('vehicle_id', '=', vehicle.id)
      .forUpdate()
      .executeTakeFirst();
    if (grant?.role !== fromRole) throw new Failure('CHANGED_MEANWHILE');
  }
  await db
    .insertInto('vehicle_grant')
    .values({ user_id: userId, vehicle_id: vehicle.id, role })
    .onConflict((conflict) => conflict.columns(['user_id', 'vehicle_id']).doUpdateSet({ role }))
    .execute();
  return applicationId;
}

/**
 * Revokes a grant. The database also ends the bookings and authorizations of the user on the vehicle.
 * @returns the application of user and vehicle
 * @throws Failure UNKNOWN_USER, UNKNOWN_VEHICLE; NOT_FOUND without a grant
 */
export async function revokeVehicle(
  db: Database,
  operator: Operator,
  { userId, vehicleId }: { userId: string; vehicleId: string },
): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  const vehicle = await findVehicle(db, { applicationId }, vehicleId);
  const { numDeletedRows } = await db
    .deleteFrom('vehicle_grant')
    .where('user_id', '=', userId)
    .where('vehicle_id', '=', vehicle.id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw new Failure('NOT_FOUND', 'the user has no grant for this vehicle');
  return applicationId;
}

/**
 * Deletes a user: its sessions end, and so do its grants with its bookings and authorizations.
 * @returns its application
 * @throws Failure UNKNOWN_USER
 */
export async function deleteUser(db: Database, operator: Operator, userId: string): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  await db.updateTable('user_account').set({ deleted_at: sql<Date>`now()` }).where('id', '=', userId).execute();
  await endSessions(db, { applicationId, userId });
  await db.deleteFrom('vehicle_grant').where('user_id', '=', userId).execute();
  return applicationId;
}

/**
 * Sets the password of a user and ends its sessions.
 * @returns its application
 * @throws Failure UNKNOWN_USER
 */
export async function resetPassword(
  db: Database,
  operator: Operator,
  { userId, passwordHash, mustChangePassword }: { userId: string; passwordHash: string; mustChangePassword: boolean },
): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  await db
    .updateTable('user_account')
    .set({ password_hash: passwordHash, must_change_password: mustChangePassword })
    .where('id', '=', userId)
    .execute();
  await endSessions(db, { applicationId, userId });
  return applicationId;
}

/** Ends all sessions of a user. @returns its application. @throws Failure UNKNOWN_USER */
export async function endUserSessions(db: Database, operator: Operator, userId: string): Promise<number> {
  const applicationId = await applicationOf(db, operator, userId);
  await endSessions(db, { applicationId, userId });
  return applicationId;
}
