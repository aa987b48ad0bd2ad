import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { createSecret, hashSecret } from '@odograph/runtime/secrets';
import { sql } from 'kysely';

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

/** Lists the applications in the order of their creation. */
export async function listApplications(db: Database): Promise<Application[]> {
  const rows = await db.selectFrom('application').select(['app_id', 'name', 'created_at']).orderBy('id').execute();
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
}

interface SettingsRow {
  view: 'dynamic' | 'fleet' | null;
  time_zone: string;
  tariff_per_km: number;
  tariff_per_minute: number;
}

/**
 * Changes the given settings of an application. @returns all of its settings
 * @throws Failure UNKNOWN_APPLICATION
 */
export async function changeSettings(
  db: Database,
  appId: string,
  { view, timeZone, tariffPerKm, tariffPerMinute }: Partial<ApplicationSettings>,
): Promise<ApplicationSettings> {
  const { rows } = await sql<SettingsRow>`update application set
      view = case when ${view ?? null}::text is null then view else nullif(${view ?? null}::text, 'combined') end,
      time_zone = coalesce(${timeZone ?? null}::text, time_zone),
      tariff_per_km = coalesce(${tariffPerKm ?? null}::double precision, tariff_per_km),
      tariff_per_minute = coalesce(${tariffPerMinute ?? null}::double precision, tariff_per_minute)
    where app_id = ${appId} returning view, time_zone, tariff_per_km, tariff_per_minute`.execute(db);
  const [row] = rows;
  if (!row) throw new Failure('UNKNOWN_APPLICATION');
  return {
    view: row.view ?? 'combined',
    timeZone: row.time_zone,
    tariffPerKm: row.tariff_per_km,
    tariffPerMinute: row.tariff_per_minute,
  };
}
