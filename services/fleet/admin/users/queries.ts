import { Failure } from '@odograph/contracts/failures';
import { isUuid } from '@odograph/contracts/uuid';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { findVehicle } from '@odograph/database/vehicle-access';

export interface NewUser {
  applicationId: number;
  username: string;
  passwordHash: string;
  mustChangePassword: boolean;
}

/** Creates a user of an application. @throws Failure ALREADY_EXISTS if the name is taken, ignoring case */
export async function createUser(db: Database, user: NewUser): Promise<string> {
  const { id } = await failOnConstraint({ user_account_username: 'ALREADY_EXISTS' }, () =>
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

/** Lists the users of an application by name, with the vehicles granted to them. */
export async function listUsers(
  db: Database,
  applicationId: number,
): Promise<{ userId: string; username: string; mustChangePassword: boolean; vehicleIds: string[] }[]> {
  const rows = await db
    .selectFrom('user_account')
    .leftJoin('vehicle_grant', 'vehicle_grant.user_id', 'user_account.id')
    .select(({ fn }) => [
      'user_account.id',
      'username',
      'must_change_password',
      fn.agg<(number | null)[]>('array_agg', ['vehicle_grant.vehicle_id']).as('vehicles'),
    ])
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .groupBy('user_account.id')
    .orderBy('username')
    .execute();
  return rows.map((row) => ({
    userId: row.id,
    username: row.username,
    mustChangePassword: row.must_change_password,
    vehicleIds: row.vehicles.filter((id) => id !== null).map(String),
  }));
}

/** The application of a user. @throws Failure UNKNOWN_USER */
async function applicationOf(db: Database, userId: string): Promise<number> {
  const row = isUuid(userId)
    ? await db
        .selectFrom('user_account')
        .select('application_id')
        .where('id', '=', userId)
        .where('deleted_at', 'is', null)
        .executeTakeFirst()
    : undefined;
  if (!row) throw new Failure('UNKNOWN_USER');
  return row.application_id;
}

/**
 * Grants a user access to a vehicle of its application; idempotent.
 * @returns the application of both
 * @throws Failure UNKNOWN_USER, UNKNOWN_VEHICLE
 */
export async function grantVehicle(db: Database, userId: string, vehicleId: string): Promise<number> {
  const applicationId = await applicationOf(db, userId);
  const vehicle = await findVehicle(db, { applicationId }, vehicleId);
  await db
    .insertInto('vehicle_grant')
    .values({ user_id: userId, vehicle_id: vehicle.id })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return applicationId;
}

/**
 * Revokes a grant.
 * @returns the application of user and vehicle
 * @throws Failure UNKNOWN_USER, UNKNOWN_VEHICLE; NOT_FOUND without a grant
 */
export async function revokeVehicle(db: Database, userId: string, vehicleId: string): Promise<number> {
  const applicationId = await applicationOf(db, userId);
  const vehicle = await findVehicle(db, { applicationId }, vehicleId);
  const { numDeletedRows } = await db
    .deleteFrom('vehicle_grant')
    .where('user_id', '=', userId)
    .where('vehicle_id', '=', vehicle.id)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw new Failure('NOT_FOUND', 'the user has no grant for this vehicle');
  return applicationId;
}
