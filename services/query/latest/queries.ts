import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { accessibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { fleetMembers, latestMembers } from '../reading-json.ts';
import type { ConfiguredView, View } from './rules.ts';

type JsonRows = RawBuilder<{ json: string }>;

const withData = sql`join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id`;
const withDevice = sql`left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
  left join device on device.id = device_link.device_id`;

/**
 * The vehicles for which a condition holds, in each shape that GET /v1/vehicles has, as JSON text; the dynamic shape leaves
 * out who has no data.
 */
export const listVehicles: Readonly<Record<View, (caller: Caller, filter: RawBuilder<boolean>) => JsonRows>> = {
  dynamic: (caller, filter) => sql`select concat('{', ${latestMembers.brief}, '}') as json from vehicle ${withData}
    where ${accessibleTo(caller)} and ${filter} order by vehicle.id`,
  fleet: (caller, filter) => sql`select concat('{', ${fleetMembers}, '}') as json from vehicle ${withDevice}
    where ${accessibleTo(caller)} and ${filter} order by vehicle.id`,
  combined: (caller, filter) => sql`select concat('{', ${fleetMembers},
      case when vehicle_latest.vehicle_id is not null then concat(',', ${latestMembers.brief}) end, '}') as json
    from vehicle ${withDevice} left ${withData} where ${accessibleTo(caller)} and ${filter} order by vehicle.id`,
};

/** The latest status of every vehicle that has data, as JSON text. */
export function listStatus(caller: Caller): JsonRows {
  return sql`select concat('{', ${latestMembers.full}, '}') as json from vehicle ${withData}
    where ${accessibleTo(caller)} order by vehicle.id`;
}

/** The shape that the application has chosen for itself, if it has. */
export async function findConfiguredView(db: Database, { applicationId }: Caller): Promise<ConfiguredView> {
  const row = await db.selectFrom('application').select('view').where('id', '=', applicationId).executeTakeFirst();
  return row?.view ?? undefined;
}
