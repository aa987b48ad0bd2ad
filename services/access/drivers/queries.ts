import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { accessibleTo, requirePermission } from '@odograph/database/vehicle-access';
import { sql } from 'kysely';
import { isOfDriver, isVisibleTo, raiseListVersions } from '../authorizations/queries.ts';

/** Interface specification, "Driver vehicle record"; times in ISO 8601. */
export interface DriverVehicle {
  Id: string;
  Builder: string;
  Model: string;
  Plate: string;
  deviceId: string;
  deviceModel: string;
  Archived: boolean;
  authorizations: { authorizationId: string; from: string; until: string }[];
}

type DriverVehicleRow = Omit<DriverVehicle, 'authorizations'> & {
  authorizations: { id: string; fromMs: number; untilMs: number }[];
};

const milliseconds = (column: string) => sql`(extract(epoch from ${sql.ref(column)}) * 1000)::float8`;

/** Lists the vehicles of a driver's current and scheduled authorizations, with these authorizations. */
export async function listDriverVehicles(
  db: Database,
  caller: Caller,
  driverId: string,
  now: Date,
): Promise<DriverVehicle[]> {
  const { rows } = await sql<DriverVehicleRow>`
    select vehicle.id::text as "Id", vehicle.brand as "Builder", vehicle.model as "Model", vehicle.plate as "Plate",
      coalesce(device.id, '') as "deviceId", coalesce(device.model_id, '') as "deviceModel",
      vehicle.archived_at is not null as "Archived", listed.authorizations
    from (
      select grant_.vehicle_id, json_agg(json_build_object('id', grant_.id, 'fromMs', ${milliseconds('valid_from')},
        'untilMs', ${milliseconds('valid_until')}) order by valid_from, grant_.id) as authorizations
      from bluetooth_authorization grant_ join vehicle on vehicle.id = grant_.vehicle_id
      where ${isOfDriver(caller, driverId)} and revoked_at is null and valid_until > ${now} and ${isVisibleTo(caller)}
      group by grant_.vehicle_id) listed
    join vehicle on vehicle.id = listed.vehicle_id
    left join device_link link on link.vehicle_id = vehicle.id and upper_inf(link.period)
    left join device on device.id = link.device_id
    order by vehicle.id`.execute(db);
  return rows.map((row) => ({
    ...row,
    authorizations: row.authorizations.map(({ id, fromMs, untilMs }) => ({
      authorizationId: id,
      from: new Date(fromMs).toISOString(),
      until: new Date(untilMs).toISOString(),
    })),
  }));
}

/**
 * Revokes all authorizations of a driver that the caller may see, in a transaction.
 * @returns how many
 * @throws Failure UNAUTHORIZED when the caller may see but not change one of them
 */
export async function revokeAuthorizations(db: Database, caller: Caller, driverId: string, now: Date): Promise<number> {
  const { rows } = await sql<{ id: string; vehicleId: number; unexpired: boolean; permitted: boolean }>`
    select grant_.id, grant_.vehicle_id as "vehicleId", grant_.valid_until > ${now} as unexpired,
      ${accessibleTo(caller, 'book')} as permitted
    from bluetooth_authorization grant_ join vehicle on vehicle.id = grant_.vehicle_id
    where ${isOfDriver(caller, driverId)} and grant_.revoked_at is null and ${isVisibleTo(caller)}
    order by grant_.id for no key update of grant_`.execute(db);
  if (rows.length === 0) return 0;
  requirePermission(rows.every(({ permitted }) => permitted));
  const ids = rows.map(({ id }) => id);
  await sql`update bluetooth_authorization set revoked_at = ${now} where id = any(${ids}::uuid[])`.execute(db);
  const vehicleIds = rows.filter(({ unexpired }) => unexpired).map(({ vehicleId }) => vehicleId);
  if (vehicleIds.length > 0) await raiseListVersions(db, [...new Set(vehicleIds)]);
  return rows.length;
}

/** A device that has not confirmed a key list with revocations. */
export interface UnconfirmedDevice {
  readonly deviceId: string;
  readonly listVersion: number;
}

/** Finds the devices that have not confirmed their key lists, of vehicles with unexpired revocations of this driver. */
export async function findUnconfirmed(
  db: Database,
  caller: Caller,
  driverId: string,
  now: Date,
): Promise<UnconfirmedDevice[]> {
  const { rows } = await sql<UnconfirmedDevice>`
    select distinct held.device_id as "deviceId", held.list_version as "listVersion"
    from bluetooth_authorization grant_
    join vehicle on vehicle.id = grant_.vehicle_id and ${isVisibleTo(caller)}
    join device_link link on link.vehicle_id = vehicle.id and upper_inf(link.period)
    join device_key held on held.device_id = link.device_id and held.confirmed_version < held.list_version
    where ${isOfDriver(caller, driverId)} and grant_.revoked_at is not null and grant_.valid_until > ${now}`.execute(
    db,
  );
  return rows;
}

/** Filters the devices that still have not confirmed their key lists. */
export async function filterUnconfirmed(
  db: Database,
  devices: readonly UnconfirmedDevice[],
): Promise<UnconfirmedDevice[]> {
  const rows = await db
    .selectFrom('device_key')
    .select(['device_id', 'confirmed_version'])
    .where(
      'device_id',
      'in',
      devices.map(({ deviceId }) => deviceId),
    )
    .execute();
  const confirmed = new Map(rows.map((row) => [row.device_id, row.confirmed_version]));
  return devices.filter(({ deviceId, listVersion }) => (confirmed.get(deviceId) ?? listVersion) < listVersion);
}
