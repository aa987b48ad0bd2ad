import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** A link between a device and a vehicle; times in microseconds, both unbounded when null. */
export interface Link {
  readonly deviceId: string;
  readonly vehicleId: number;
  readonly applicationId: number;
  readonly from: number | null;
  readonly until: number | null;
}

/** Finds the links, past and present, of a device, or of a vehicle. */
export async function findLinks(
  db: Database,
  { deviceId, vehicleId }: { deviceId?: string | undefined; vehicleId?: string | undefined },
): Promise<Link[]> {
  const ofDevice = sql<boolean>`device_link.device_id = ${deviceId ?? null}`;
  const ofVehicle = sql<boolean>`device_link.vehicle_id = ${vehicleId ?? null}::integer`;
  const { rows } = await sql<Link>`
    select device_link.device_id as "deviceId", vehicle.id as "vehicleId", vehicle.application_id as "applicationId",
      (extract(epoch from nullif(lower(period), '-infinity')) * 1000000)::bigint as from,
      (extract(epoch from nullif(upper(period), 'infinity')) * 1000000)::bigint as until
    from device_link join vehicle on vehicle.id = device_link.vehicle_id
    where ${vehicleId === undefined ? ofDevice : ofVehicle} and vehicle.deleted_at is null`.execute(db);
  return rows;
}
