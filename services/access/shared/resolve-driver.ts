import type { Caller } from '@odograph/contracts/caller';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

export interface Driver {
  /** As the interface shows it. */
  readonly userId: string;
  /** The account of the application that belongs to the driver, if there is one. */
  readonly accountId: string | null;
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

const foreignDriverFailure = () =>
  new Failure('UNAUTHORIZED', 'this needs the role manager: a driver can only name itself');

async function resolveUser(
  db: Database,
  { applicationId, userId }: Caller & { readonly userId: string },
  driver: string | undefined,
  isManaged: boolean,
): Promise<Driver> {
  const accountId = driver === undefined ? userId : await findAccountId(db, applicationId, driver);
  if (accountId === userId) return { userId, accountId };
  if (driver !== undefined && isManaged) return { userId: driver, accountId: accountId ?? null };
  if (accountId === undefined) throw new Failure('DRIVER_WITHOUT_ACCOUNT');
  throw foreignDriverFailure();
}

async function findApplicationDriver(db: Database, applicationId: number): Promise<Driver> {
  const { app_id } = await db
    .selectFrom('application')
    .select('app_id')
    .where('id', '=', applicationId)
    .executeTakeFirstOrThrow();
  return { userId: app_id, accountId: null };
}

/**
 * Resolves the driver of a new booking. A user is its own driver, unless it manages the vehicle. An application may name
 * anyone, since the service does not know the application's own users; without a name it is the driver itself.
 * @throws Failure UNAUTHORIZED when a user names another driver, DRIVER_WITHOUT_ACCOUNT when it names an unknown one
 */
export async function resolveDriver(
  db: Database,
  { applicationId, userId }: Caller,
  driver: string | undefined,
  isManaged: boolean,
): Promise<Driver> {
  const named = driver === '' ? undefined : driver;
  if (named?.trim() === '') throw invalidParameter('driver', 'is blank');
  if (userId !== undefined) return resolveUser(db, { applicationId, userId }, named, isManaged);
  if (named === undefined) return findApplicationDriver(db, applicationId);
  return { userId: named, accountId: (await findAccountId(db, applicationId, named)) ?? null };
}

/**
 * Resolves the driver of a new authorization, by the same rule. @returns the account id for the caller itself
 * @throws Failure UNAUTHORIZED when a user without the role manager names another driver
 */
export async function resolveDriverId(
  db: Database,
  { applicationId, userId }: Caller,
  driver: string,
  isManaged: boolean,
): Promise<string> {
  if (driver.trim() === '') throw invalidParameter('userId', 'is blank');
  if (userId === undefined) return driver;
  if ((await findAccountId(db, applicationId, driver)) === userId) return userId;
  if (!isManaged) throw foreignDriverFailure();
  return driver;
}
