import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** The vehicle that a device was linked to in the half-open period [from, until), microseconds since the epoch. */
export interface Link {
  vehicleId: number;
  applicationId: number;
  fromMicroseconds: number;
  untilMicroseconds: number;
}

interface LinkRow {
  device_id: string;
  vehicle_id: number;
  application_id: number;
  from_microseconds: number | null;
  until_microseconds: number | null;
}

/** Every link that these devices ever had to a vehicle that still exists. */
export async function findLinks(db: Database, deviceIds: readonly string[]): Promise<Map<string, Link[]>> {
  const { rows } = await sql<LinkRow>`
    select device_link.device_id, device_link.vehicle_id, vehicle.application_id,
      (extract(epoch from nullif(lower(period), '-infinity')) * 1000000)::bigint as from_microseconds,
      (extract(epoch from nullif(upper(period), 'infinity')) * 1000000)::bigint as until_microseconds
    from device_link join vehicle on vehicle.id = device_link.vehicle_id
    where device_link.device_id = any(${deviceIds}::text[]) and vehicle.deleted_at is null`.execute(db);
  const links = new Map<string, Link[]>();
  for (const row of rows) {
    const link: Link = {
      vehicleId: row.vehicle_id,
      applicationId: row.application_id,
      fromMicroseconds: row.from_microseconds ?? Number.NEGATIVE_INFINITY,
      untilMicroseconds: row.until_microseconds ?? Number.POSITIVE_INFINITY,
    };
    const known = links.get(row.device_id);
    if (known) known.push(link);
    else links.set(row.device_id, [link]);
  }
  return links;
}
