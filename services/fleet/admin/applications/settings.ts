import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** What an operator sets for an application; what is left out stays as it is. */
export interface ApplicationSettings {
  /** The shape of GET /v1/vehicles and GET /v1/vehicle/{id}/status. */
  view?: 'dynamic' | 'fleet' | 'combined';
  /** IANA name; decides where a month begins. */
  timeZone?: string;
  tariffPerKm?: number;
  tariffPerMinute?: number;
}

/** Whether a name is one of the IANA time zone database. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== undefined;
  } catch {
    return false;
  }
}

interface Row {
  view: 'dynamic' | 'fleet' | null;
  time_zone: string;
  tariff_per_km: number;
  tariff_per_minute: number;
}

/**
 * Changes the settings of an application. @returns all of them as they are now
 * @throws Failure UNKNOWN_APPLICATION
 */
export async function changeSettings(
  db: Database,
  appId: string,
  { view, timeZone, tariffPerKm, tariffPerMinute }: ApplicationSettings,
): Promise<Required<ApplicationSettings>> {
  const { rows } = await sql<Row>`update application set
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
