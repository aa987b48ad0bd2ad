import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** Who drives: as the interface shows it, and the account of the application that this is, if any. */
export interface Driver {
  userId: string;
  accountId: string | null;
}

async function findAccountId(db: Database, applicationId: number, driver: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('user_account')
    .select('id')
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .where(sql<boolean>`(id::text = lower(${driver}) or lower(username) = lower(${driver}))`)
    .orderBy(sql`id::text = lower(${driver})`, 'desc')
    .executeTakeFirst();
  return row?.id;
}

async function driverOfUser(
  db: Database,
  applicationId: number,
  userId: string,
  driver: string | undefined,
): Promise<Driver> {
  const accountId = driver === undefined ? userId : await findAccountId(db, applicationId, driver);
  if (accountId === undefined) throw new Failure('DRIVER_WITHOUT_ACCOUNT');
  if (accountId !== userId) throw new Failure('UNAUTHORIZED', 'a user books for itself only');
  return { userId, accountId };
}

async function requestingApplication(db: Database, applicationId: number): Promise<Driver> {
  const { app_id } = await db
    .selectFrom('application')
    .select('app_id')
    .where('id', '=', applicationId)
    .executeTakeFirstOrThrow();
  return { userId: app_id, accountId: null };
}

/**
 * The driver of a new booking. A user is its own driver. An application names whom it likes, since its own users are
 * unknown to the service; without a name the requesting party itself is the driver, which is the application.
 * @throws Failure UNAUTHORIZED when a user names another, DRIVER_WITHOUT_ACCOUNT when it names nobody that is known
 */
export async function resolveDriver(
  db: Database,
  { applicationId, userId }: Caller,
  driver: string | undefined,
): Promise<Driver> {
  const named = driver === '' ? undefined : driver;
  if (named?.trim() === '') throw invalidParameter('driver', 'is blank');
  if (userId !== undefined) return driverOfUser(db, applicationId, userId, named);
  if (named === undefined) return requestingApplication(db, applicationId);
  return { userId: named, accountId: (await findAccountId(db, applicationId, named)) ?? null };
}
