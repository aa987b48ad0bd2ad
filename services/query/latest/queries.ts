import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { fleetMembers, latestMembers } from '@odograph/database/reading-json';
import { accessibleTo } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import type { ListRow } from '../answers.ts';
import type { ConfiguredView, View } from './rules.ts';

const withData = sql`join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id`;
const withDevice = sql`left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
  left join device on device.id = device_link.device_id`;

const vehicleJson: Readonly<Record<View, { readonly json: RawBuilder<string>; readonly source: RawBuilder<unknown> }>> =
  {
    dynamic: { json: latestMembers.brief, source: withData },
    fleet: { json: fleetMembers, source: withDevice },
    combined: {
      json: sql`${fleetMembers}, case when vehicle_latest.vehicle_id is not null then concat(',', ${latestMembers.brief}) end`,
      source: sql`${withDevice} left ${withData}`,
    },
  };

/**
 * Selects the vehicles for which `filter` is true and whose id is greater than `lastId`, in one of the shapes of
 * GET /v1/vehicles. The dynamic shape leaves out vehicles without data.
 */
export function listVehicles(
  view: View,
  caller: Caller,
  filter: RawBuilder<boolean>,
  lastId: number,
): RawBuilder<ListRow> {
  const { json, source } = vehicleJson[view];
  return sql<ListRow>`select vehicle.id, concat('{', ${json}, '}') as json from vehicle ${source}
    where ${accessibleTo(caller)} and ${filter} and vehicle.id > ${lastId} order by vehicle.id`;
}

/** Selects the latest status of the vehicles that have data and an id greater than `lastId`. */
export function listStatus(caller: Caller, lastId: number): RawBuilder<ListRow> {
  return sql<ListRow>`select vehicle.id, concat('{', ${latestMembers.full}, '}') as json from vehicle ${withData}
    where ${accessibleTo(caller)} and vehicle.id > ${lastId} order by vehicle.id`;
}

/** Finds the shape that the application has set, if any. */
export async function findConfiguredView(db: Database, { applicationId }: Caller): Promise<ConfiguredView> {
  const row = await db.selectFrom('application').select('view').where('id', '=', applicationId).executeTakeFirst();
  return row?.view ?? undefined;
}
