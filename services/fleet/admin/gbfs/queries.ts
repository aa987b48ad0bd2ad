import { randomBytes } from 'node:crypto';
import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { GbfsSettings } from '@odograph/contracts/gbfs';
import type { Database } from '@odograph/database/database';
import { failOnConstraint } from '@odograph/database/postgres-failure';
import { sql } from 'kysely';

const idKeyBytes = 32;

/** Stores what an application publishes. @throws Failure ALREADY_EXISTS if another application has the system id */
export async function storeSettings(db: Database, applicationId: number, settings: GbfsSettings): Promise<void> {
  await failOnConstraint({ gbfs_system_id: ['ALREADY_EXISTS', 'another application has this system id'] }, () =>
    db
      .insertInto('gbfs_system')
      .values({
        application_id: applicationId,
        system_id: settings.system.system_id,
        settings: JSON.stringify(settings),
        id_key: randomBytes(idKeyBytes),
      })
      // The key stays, so that a change of the settings gives no vehicle a new id.
      .onConflict((conflict) =>
        conflict.column('application_id').doUpdateSet((excluded) => ({
          system_id: excluded.ref('excluded.system_id'),
          settings: excluded.ref('excluded.settings'),
          updated_at: sql<Date>`now()`,
        })),
      )
      .execute(),
  );
}

/** Reads what an application publishes. @throws Failure NOT_FOUND if it publishes nothing */
export async function readSettings(
  db: Database,
  applicationId: number,
): Promise<{ settings: GbfsSettings; updatedAt: Date }> {
  const row = await db
    .selectFrom('gbfs_system')
    .select(['settings', 'updated_at'])
    .where('application_id', '=', applicationId)
    .executeTakeFirst();
  if (!row) throw new Failure('NOT_FOUND', 'the application publishes no GBFS feeds');
  return { settings: row.settings, updatedAt: row.updated_at };
}

/** Ends the publication. @returns the system id. @throws Failure NOT_FOUND if the application publishes nothing */
export async function deleteSettings(db: Database, applicationId: number): Promise<string> {
  const row = await db
    .deleteFrom('gbfs_system')
    .where('application_id', '=', applicationId)
    .returning('system_id')
    .executeTakeFirst();
  if (!row) throw new Failure('NOT_FOUND', 'the application publishes no GBFS feeds');
  return row.system_id;
}

/** Checks that geofences, vehicles and parking spots are of the application. @throws Failure INVALID_PARAMETER for the first that is not */
export async function requireOwn(db: Database, applicationId: number, settings: GbfsSettings): Promise<void> {
  const { geofencing, vehicleIds = [], stations } = settings;
  const geofenceIds = (geofencing?.zones ?? []).map(({ geofenceId }) => geofenceId.toLowerCase());
  const shortIds = Array.isArray(stations) ? stations : [];
  const { rows } = await sql<{ geofences: string[]; vehicles: string[]; spots: string[] }>`select
    array(select id::text from geofence where application_id = ${applicationId}
      and id = any(${geofenceIds}::uuid[])) as geofences,
    array(select id::text from vehicle where application_id = ${applicationId} and deleted_at is null
      and id::text = any(${[...vehicleIds]}::text[])) as vehicles,
    array(select short_id from parking where application_id = ${applicationId}
      and latitude is not null and short_id = any(${[...shortIds]}::text[])) as spots`.execute(db);
  const { geofences = [], vehicles = [], spots = [] } = rows[0] ?? {};
  const requireAll = (ids: readonly string[], known: readonly string[], path: string, rule: string) => {
    const found = new Set(known);
    const missing = ids.findIndex((id) => !found.has(id));
    if (missing !== -1) throw invalidParameter(path.replace('*', String(missing)), rule);
  };
  requireAll(geofenceIds, geofences, 'geofencing.zones.*.geofenceId', 'must be a geofence of the application');
  requireAll(vehicleIds, vehicles, 'vehicleIds.*', 'must be a vehicle of the application');
  requireAll(shortIds, spots, 'stations.*', 'must be the short id of a parking spot with coordinates');
}
