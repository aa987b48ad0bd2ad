import type { Caller } from '@odograph/contracts/caller';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { lockVehicleForUse } from '../vehicles/queries.ts';

/** Interface specification, "state object". */
export const stateFlags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const;
export type StateFlag = (typeof stateFlags)[number];

/**
 * Sets or clears a state of a vehicle. Clearing it keeps the time, so that older device events arriving later do not set
 * it again.
 * @returns whether it changed
 * @throws Failure UNKNOWN_VEHICLE, UNAUTHORIZED, VEHICLE_ARCHIVED
 */
export async function setState(
  db: Database,
  caller: Caller,
  id: string,
  { flag, state }: { flag: StateFlag; state: boolean },
): Promise<boolean> {
  const vehicleId = await lockVehicleForUse(db, caller, id);
  const { rows } = await sql<{ changed: boolean }>`
    with found as (select id, ${sql.ref(flag)} as before from vehicle where id = ${vehicleId})
    update vehicle set ${sql.ref(flag)} = ${state}, states_lowered = case when ${state} then vehicle.states_lowered
      else vehicle.states_lowered || jsonb_build_object(${flag}::text, clock_timestamp()) end
    from found where vehicle.id = found.id
    returning found.before <> ${state} as changed`.execute(db);
  return rows[0]?.changed ?? false;
}
