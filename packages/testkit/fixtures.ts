import { randomInt, randomUUID } from 'node:crypto';
import type { OperatorRole } from '@odograph/contracts/caller';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { GrantRole } from '@odograph/database/vehicle-access';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { type RawBuilder, sql, type Updateable } from 'kysely';

export interface TestApplication {
  id: number;
  appId: string;
  appKey: string;
  /** An access token in application mode. */
  token: string;
}

export interface TestVehicle {
  /** Ten digits. */
  id: string;
  deviceId: string;
  secret: string;
}

/** Columns of an application whose devices are not throttled in practice. */
export const unthrottled = { device_uploads_per_second: 1_000_000, device_bytes_per_second: 1_000_000_000 };

/**
 * Stores thousands of rows without triggers and foreign keys, which would take most of the time. The rows raise no events,
 * change no key lists and do not invalidate cached ingest decisions.
 * @returns the rows of the statement
 */
export function fillWithoutTriggers<Row>(db: Database, statement: RawBuilder<Row>): Promise<Row[]> {
  return db.transaction().execute(async (transaction) => {
    await sql`set local session_replication_role = replica`.execute(transaction);
    return (await statement.execute(transaction)).rows;
  });
}

/** Creates an application with its own credentials. @param more further columns, such as the rates of its devices */
export async function createApplication(
  db: Database,
  more: Partial<typeof unthrottled> = {},
): Promise<TestApplication> {
  const appId = `app-${createSecret().slice(0, 16)}`;
  const appKey = createSecret();
  const { id } = await db
    .insertInto('application')
    .values({ app_id: appId, app_key_sha256: hashSecret(appKey), name: appId, ...more })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { id, appId, appKey, token: await createToken(db, id) };
}

/** Issues an access token of an application or of one of its users, valid for an hour. */
export async function createToken(db: Database, applicationId: number, userId?: string): Promise<string> {
  const token = createSecret();
  const session = await db
    .insertInto('session')
    .values({ application_id: applicationId, user_id: userId ?? null })
    .returning('id')
    .executeTakeFirstOrThrow();
  await db
    .insertInto('access_token')
    .values({ token_sha256: hashSecret(token), session_id: session.id, expires_at: new Date(Date.now() + 3_600_000) })
    .execute();
  return token;
}

export interface TestUser {
  id: string;
  username: string;
  /** An access token in user mode. */
  token: string;
}

/** Creates a user of an application with grants for vehicles. Without a password hash it cannot sign in. */
export async function createUser(
  db: Database,
  application: { id: number },
  { vehicleIds = [], role = 'driver', passwordHash = '-', mustChangePassword = false }: TestUserOptions = {},
): Promise<TestUser> {
  const username = `user-${randomUUID()}`;
  const { id } = await db
    .insertInto('user_account')
    .values({
      application_id: application.id,
      username,
      password_hash: passwordHash,
      must_change_password: mustChangePassword,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const vehicleId of vehicleIds) await grantVehicle(db, id, vehicleId, role);
  return { id, username, token: await createToken(db, application.id, id) };
}

export interface TestOperator {
  id: string;
  name: string;
  /** The header of a signed-in browser. */
  cookie: string;
}

/**
 * Creates an operator, and signs a browser in.
 * @param applicationIds the applications that the operator is limited to; all without one
 */
export async function createOperator(
  db: Database,
  {
    role = 'administrator',
    applicationIds = [],
    passwordHash = '-',
  }: { role?: OperatorRole; applicationIds?: readonly number[]; passwordHash?: string } = {},
): Promise<TestOperator> {
  const name = `operator-${randomUUID()}`;
  const { id } = await db
    .insertInto('operator')
    .values({ name, password_hash: passwordHash, role })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const application_id of applicationIds) {
    await db.insertInto('operator_application').values({ operator_id: id, application_id }).execute();
  }
  return { id, name, cookie: await signIn(db, { operator_id: id }) };
}

/** Signs a browser in, for an operator or with a session of a user. @returns the header `cookie` */
export async function signIn(db: Database, owner: { operator_id: string } | { session_id: string }): Promise<string> {
  const token = createSecret();
  const expires_at = new Date(Date.now() + 3_600_000);
  await db
    .insertInto('sign_in')
    .values({ token_sha256: hashSecret(token), expires_at, ...owner })
    .execute();
  return `odograph_session=${token}`;
}

interface TestUserOptions {
  vehicleIds?: readonly string[];
  /** The role of the grants. */
  role?: GrantRole;
  passwordHash?: string;
  mustChangePassword?: boolean;
}

/** Grants a user access to a vehicle. */
export async function grantVehicle(
  db: Database,
  userId: string,
  vehicleId: string,
  role: GrantRole = 'driver',
): Promise<void> {
  await db
    .insertInto('vehicle_grant')
    .values({ user_id: userId, vehicle_id: Number(vehicleId), role })
    .execute();
}

/** Creates a device without a link. */
export async function createDevice(
  db: Database,
  {
    applicationId = null,
    model = 'generic',
    deviceId = `test-${randomUUID()}`,
  }: { applicationId?: number | null; model?: string; deviceId?: string } = {},
): Promise<{ deviceId: string; secret: string }> {
  const secret = createSecret();
  await db
    .insertInto('device')
    .values({ id: deviceId, model_id: model, application_id: applicationId, secret_sha256: hashSecret(secret) })
    .execute();
  return { deviceId, secret };
}

/** Creates a source of an application. */
export async function createSource(
  db: Database,
  application: { id: number },
  { format, createDevices = false }: { format: SourceFormatName; createDevices?: boolean },
): Promise<{ sourceId: string; secret: string }> {
  const secret = createSecret();
  const { id } = await db
    .insertInto('source')
    .values({
      ...{ application_id: application.id, format, create_devices: createDevices },
      secret_sha256: hashSecret(secret),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return { sourceId: id, secret };
}

/** Creates a vehicle without a device. @returns its id */
export async function createUnlinkedVehicle(db: Database, application: { id: number }): Promise<string> {
  const { id } = await db
    .insertInto('vehicle')
    .values({ application_id: application.id, plate: randomUUID().slice(0, 13), brand: 'Renault', model: 'Zoe' })
    .returning('id')
    .executeTakeFirstOrThrow();
  return String(id);
}

/** Sets columns of a vehicle. */
export async function updateVehicle(db: Database, id: string, values: Updateable<Tables['vehicle']>): Promise<void> {
  await db.updateTable('vehicle').set(values).where('id', '=', Number(id)).execute();
}

/** Archives a vehicle. */
export async function archiveVehicle(db: Database, id: string): Promise<void> {
  await updateVehicle(db, id, { archived_at: new Date() });
}

/** Creates a vehicle and a device linked to it over all time. */
export async function createVehicle(
  db: Database,
  application: { id: number },
  options: { model?: string; deviceId?: string } = {},
): Promise<TestVehicle> {
  const id = await createUnlinkedVehicle(db, application);
  const device = await createDevice(db, { applicationId: application.id, ...options });
  await db
    .insertInto('device_link')
    .values({ device_id: device.deviceId, vehicle_id: Number(id), period: sql`tstzrange(null, null)` })
    .execute();
  return { id, ...device };
}

/** Ends the current link of a device now, as the fleet service does. */
export async function unlinkDevice(db: Database, deviceId: string): Promise<void> {
  await sql`update device_link set period = tstzrange(lower(period), clock_timestamp())
    where device_id = ${deviceId} and upper_inf(period)`.execute(db);
}

/** Links a device without a current link to a vehicle from now on. */
export async function linkDevice(db: Database, deviceId: string, vehicleId: string): Promise<void> {
  await sql`insert into device_link (device_id, vehicle_id, period)
    values (${deviceId}, ${Number(vehicleId)}, tstzrange(clock_timestamp(), null))`.execute(db);
}

/** Makes up an IMEI: fifteen digits, different in each call. */
export function createImei(): string {
  return String(randomInt(10 ** 7, 10 ** 8)).padStart(8, '0') + String(randomInt(10 ** 7)).padStart(7, '0');
}

/** Creates a group with vehicles. @returns its id */
export async function createGroup(
  db: Database,
  application: { id: number },
  { parentId = null, vehicleIds = [] }: { parentId?: string | null; vehicleIds?: readonly string[] } = {},
): Promise<string> {
  const { rows } = await sql<{ id: string }>`insert into vehicle_group (application_id, parent_id, name)
    values (${application.id}, ${parentId}, 'group') returning id`.execute(db);
  const id = rows[0]?.id ?? '';
  await sql`insert into vehicle_group_member
    select ${id}::uuid, unnest(${vehicleIds.map(Number)}::integer[])`.execute(db);
  return id;
}
