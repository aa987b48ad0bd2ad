import { type Operator, seesApplication } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';
import { endSessions } from '../../accounts/queries.ts';

/** An application as the operator sees it, without its appKey. */
export interface Application {
  appId: string;
  name: string;
  createdAt: string;
}

/** Creates an application. @returns its credentials; only a hash of the appKey is stored */
export async function createApplication(db: Database, name: string): Promise<{ appId: string; appKey: string }> {
  const appId = `app-${createSecret().slice(0, 16)}`;
  const appKey = createSecret();
  await db
    .insertInto('application')
    .values({ app_id: appId, app_key_sha256: hashSecret(appKey), name })
    .execute();
  return { appId, appKey };
}

/** Lists applications in the order of their creation: those with these ids, or all. */
export async function listApplications(db: Database, ids: readonly number[] | undefined): Promise<Application[]> {
  const rows = await db
    .selectFrom('application')
    .select(['app_id', 'name', 'created_at'])
    .where('deleted_at', 'is', null)
    .$if(ids !== undefined, (query) => query.where(sql<boolean>`id = any (${ids ?? []}::integer[])`))
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ appId: row.app_id, name: row.name, createdAt: row.created_at.toISOString() }));
}

/** The settings of an application. */
export interface ApplicationSettings {
  /** The shape of GET /v1/vehicles and GET /v1/vehicle/{id}/status. */
  view: 'dynamic' | 'fleet' | 'combined';
  /** IANA name; decides when a month begins. */
  timeZone: string;
  tariffPerKm: number;
  tariffPerMinute: number;
  /** Rates of each device of the application; 0 for the settings of the platform. */
  deviceUploadsPerSecond: number;
  deviceBytesPerSecond: number;
}

interface SettingsRow {
  view: 'dynamic' | 'fleet' | null;
  time_zone: string;
  tariff_per_km: number;
  tariff_per_minute: number;
  device_uploads_per_second: number | null;
  device_bytes_per_second: number | null;
}

/** The new value of a rate: the old one without a change, null for 0. */
function changedRate(column: string, rate: number | undefined) {
  return rate === undefined ? sql.ref(column) : sql`nullif(${rate}::integer, 0)`;
}

/**
 * Changes the given settings of an application. @returns all of its settings
 * @throws Failure UNKNOWN_APPLICATION
 */
export async function changeSettings(
  db: Database,
  appId: string,
  { view, timeZone, tariffPerKm, tariffPerMinute, ...rates }: Partial<ApplicationSettings>,
): Promise<ApplicationSettings> {
  const { rows } = await sql<SettingsRow>`update application set
      view = case when ${view ?? null}::text is null then view else nullif(${view ?? null}::text, 'combined') end,
      time_zone = coalesce(${timeZone ?? null}::text, time_zone),
      tariff_per_km = coalesce(${tariffPerKm ?? null}::double precision, tariff_per_km),
      tariff_per_minute = coalesce(${tariffPerMinute ?? null}::double precision, tariff_per_minute),
      device_uploads_per_second = ${changedRate('device_uploads_per_second', rates.deviceUploadsPerSecond)},
      device_bytes_per_second = ${changedRate('device_bytes_per_second', rates.deviceBytesPerSecond)}
    where app_id = ${appId} and deleted_at is null
    returning ${settingsColumns}`.execute(db);
  return toSettings(rows);
}

const settingsColumns = sql`view, time_zone, tariff_per_km, tariff_per_minute, device_uploads_per_second,
  device_bytes_per_second`;

/** Reads the settings of an application. @throws Failure UNKNOWN_APPLICATION */
export async function readSettings(db: Database, applicationId: number): Promise<ApplicationSettings> {
  const { rows } = await sql<SettingsRow>`select ${settingsColumns} from application
    where id = ${applicationId} and deleted_at is null`.execute(db);
  return toSettings(rows);
}

/** Reads the settings of an application, and locks them until the transaction ends. @throws Failure UNKNOWN_APPLICATION */
export async function lockSettings(db: Database, applicationId: number): Promise<ApplicationSettings> {
  const { rows } = await sql<SettingsRow>`select ${settingsColumns} from application
    where id = ${applicationId} and deleted_at is null for no key update`.execute(db);
  return toSettings(rows);
}

function toSettings([row]: readonly SettingsRow[]): ApplicationSettings {
  if (!row) throw new Failure('UNKNOWN_APPLICATION');
  return {
    view: row.view ?? 'combined',
    timeZone: row.time_zone,
    tariffPerKm: row.tariff_per_km,
    tariffPerMinute: row.tariff_per_minute,
    deviceUploadsPerSecond: row.device_uploads_per_second ?? 0,
    deviceBytesPerSecond: row.device_bytes_per_second ?? 0,
  };
}

/**
 * Replaces the appKey of an application. @returns the new appKey; only a hash of it is stored
 * @param overlapHours how long the old appKey stays valid; 0 ends it at once
 */
export async function rotateKey(db: Database, applicationId: number, overlapHours: number): Promise<string> {
  const appKey = createSecret();
  const overlap = overlapHours > 0;
  await db
    .updateTable('application')
    .set({
      app_key_sha256: hashSecret(appKey),
      previous_app_key_sha256: overlap ? sql<Buffer>`app_key_sha256` : null,
      previous_app_key_until: overlap ? sql<Date>`now() + make_interval(hours => ${overlapHours})` : null,
    })
    .where('id', '=', applicationId)
    .execute();
  return appKey;
}

/** Finds the database id of an application that an operator sees, also of a deleted one. @throws Failure UNKNOWN_APPLICATION */
export async function findAnyApplicationId(db: Database, operator: Operator, appId: string): Promise<number> {
  const row = await db.selectFrom('application').select('id').where('app_id', '=', appId).executeTakeFirst();
  if (!row || !seesApplication(operator, row.id)) throw new Failure('UNKNOWN_APPLICATION');
  return row.id;
}

/** Deletes the accounts of an application: it and its users cannot sign in again, and their sessions end. */
export async function deleteAccounts(db: Database, applicationId: number): Promise<void> {
  const now = sql<Date>`now()`;
  await db
    .updateTable('application')
    .set({ deleted_at: sql<Date>`coalesce(deleted_at, now())` })
    .where('id', '=', applicationId)
    .execute();
  const users = await db
    .updateTable('user_account')
    .set({ deleted_at: now })
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .returning('id')
    .execute();
  await endSessions(db, { applicationId });
  for (const { id } of users) await db.deleteFrom('vehicle_grant').where('user_id', '=', id).execute();
}

/** Finds vehicles of an application that are not deleted, at most `limit`. */
export async function findVehicleIds(db: Database, applicationId: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('vehicle')
    .select('id')
    .where('application_id', '=', applicationId)
    .where('deleted_at', 'is', null)
    .limit(limit)
    .execute();
  return rows.map(({ id }) => String(id));
}

/** Takes the devices of an application from it, after the end of their links; the operator can release them. */
export async function disownDevices(db: Database, applicationId: number): Promise<void> {
  await db.updateTable('device').set({ application_id: null }).where('application_id', '=', applicationId).execute();
}
