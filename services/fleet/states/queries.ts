import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, parseVehicleId } from '@odograph/database/vehicle-access';
import { sql } from 'kysely';

/** Interface specification, "state object". */
export const stateFlags = ['towing', 'accident', 'maintenance', 'breakdown', 'stolen', 'unavailable'] as const;
export type StateFlag = (typeof stateFlags)[number];

/**
 * Sets or clears a state of a vehicle. Clearing it keeps the time, so that older device events arriving later do not set
 * it again.
 * @returns whether it changed
 * @throws Failure UNKNOWN_VEHICLE
 */
export async function setState(
  db: Database,
  caller: Caller,
  id: string,
  { flag, state }: { flag: StateFlag; state: boolean },
): Promise<boolean> {
  const { rows } = await sql<{ changed: boolean }>`
    with found as (
      select id, ${sql.ref(flag)} as before from vehicle
      where id = ${parseVehicleId(id) ?? null} and ${accessibleTo(caller)} for no key update)
    update vehicle set ${sql.ref(flag)} = ${state}, states_lowered = case when ${state} then vehicle.states_lowered
      else vehicle.states_lowered || jsonb_build_object(${flag}::text, clock_timestamp()) end
    from found where vehicle.id = found.id
    returning found.before <> ${state} as changed`.execute(db);
  const [row] = rows;
  if (!row) throw new Failure('UNKNOWN_VEHICLE');
  return row.changed;
}
