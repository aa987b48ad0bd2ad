import type { Database } from '@odograph/database/database';
import { privacyIsOn } from '@odograph/database/reading-json';
import { type RawBuilder, sql } from 'kysely';

/** A vehicle as Home Assistant shows it; null is unknown, and a private vehicle has no position. */
export interface ShownVehicle {
  readonly id: number;
  readonly appId: string;
  readonly plate: string;
  readonly brand: string;
  readonly model: string;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly battery: number | null;
  readonly range: number | null;
  readonly lock: string | null;
}

const number = (group: string, key: string) =>
  sql`(vehicle_latest.${sql.ref(group)}->>${sql.lit(key)})::double precision`;
/** Positions of private vehicles do not leave the database. */
const unlessPrivate = (value: RawBuilder<unknown>) => sql`case when not ${sql.raw(privacyIsOn)} then ${value} end`;

/**
 * Finds the vehicles of applications that are neither archived nor deleted.
 * @param ids the vehicles to look for; all without it
 */
export async function findShownVehicles(
  db: Database,
  appIds: readonly string[],
  ids?: readonly number[],
): Promise<ShownVehicle[]> {
  const among = ids ? sql`vehicle.id = any(${ids}::integer[])` : sql`true`;
  const { rows } = await sql<ShownVehicle>`
    select vehicle.id, application.app_id as "appId", vehicle.plate, vehicle.brand, vehicle.model,
      ${unlessPrivate(number('location', 'latitude'))} as latitude,
      ${unlessPrivate(number('location', 'longitude'))} as longitude,
      coalesce(${number('electric', 'soc')}, ${number('fleet', 'ChargeLevel')}) as battery,
      coalesce(${number('status', 'autonomy')}, ${number('fleet', 'RemainingRange')}) as range,
      vehicle_latest.fleet->>'lock' as lock
    from vehicle
    join application on application.id = vehicle.application_id
    left join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id
    where vehicle.deleted_at is null and vehicle.archived_at is null
      and application.app_id = any(${appIds}::text[]) and ${among}
    order by vehicle.id`.execute(db);
  return rows;
}
