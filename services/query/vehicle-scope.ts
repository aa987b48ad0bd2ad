import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import { vehicleMember } from './reading-json.ts';

/** Whose readings an answer is about. */
export interface VehicleScope {
  /** True for their rows of the table reading, and only for theirs. */
  readonly condition: RawBuilder<boolean>;
  /** Only readings that belong to it, whatever the vehicles reported before they did. */
  readonly applicationId?: number;
  /** They are so few that each is best asked for its own readings, where order and number are what is looked for. */
  readonly few?: readonly number[];
  /** The member `"vehicle":{…}` of each. */
  readonly members: ReadonlyMap<number, string>;
}

/**
 * True for some of the vehicles, `vehicle` being the alias of the table. `candidates` narrows where it has to look, and
 * calls the same table `candidate`.
 */
export type VehicleFilter = (candidates: RawBuilder<boolean>) => RawBuilder<boolean>;

const anyVehicle: VehicleFilter = () => sql<boolean>`true`;

/**
 * Vehicles whose device reports a proprietary CAN protocol; without a device now, the last one counts, because what it
 * reported is still there. "is true" makes it one hash table, also for a planner that knows nothing of the tables yet.
 */
export const hasProprietaryCan: VehicleFilter = (candidates) => sql<boolean>`(vehicle.id in (
  select last_link.vehicle_id from (
    select distinct on (device_link.vehicle_id) device_link.vehicle_id, device_model.proprietary_can from device_link
    join vehicle as candidate on candidate.id = device_link.vehicle_id
    join device on device.id = device_link.device_id
    join device_model on device_model.id = device.model_id
    where ${candidates}
    order by device_link.vehicle_id, lower(device_link.period) desc nulls last) as last_link
  where last_link.proprietary_can)) is true`;

/** All vehicles the caller may see and for which the filter holds. */
export function vehiclesOfCaller(caller: Caller, filter: VehicleFilter = anyVehicle): RawBuilder<boolean> {
  const passes = filter(sql<boolean>`candidate.application_id = ${caller.applicationId}`);
  return sql<boolean>`${accessibleTo(caller)} and ${passes}`;
}

/** The vehicle with this id if the filter holds for it; says nothing of who may see it. */
export function vehicleWithId(id: number, filter: VehicleFilter = anyVehicle): RawBuilder<boolean> {
  return sql<boolean>`vehicle.id = ${id} and ${filter(sql<boolean>`candidate.id = ${id}`)}`;
}

async function findMembers(db: Database, condition: RawBuilder<boolean>): Promise<Map<number, string>> {
  const { rows } = await sql<{ id: number; member: string }>`
    select vehicle.id, ${vehicleMember} as member from vehicle where ${condition}`.execute(db);
  return new Map(rows.map(({ id, member }) => [id, member]));
}

function among({ applicationId }: Caller, ids: readonly number[]): RawBuilder<boolean> {
  // "is true" keeps this a filter with a hash table on the index of the application, which has the order of the answer.
  return sql<boolean>`reading.application_id = ${applicationId}
    and (reading.vehicle_id in (select unnest(${ids}::integer[]))) is true`;
}

/**
 * Whether a user who sees these vehicles sees few. Asking each for a page costs a page for each of them; passing over the
 * readings of all others costs a page for each time that the user's share goes into the whole.
 */
async function areFew(db: Database, { applicationId, userId }: Caller, ids: readonly number[]): Promise<boolean> {
  if (userId === undefined) return false;
  const { rows } = await sql<{ few: boolean }>`select count(*) > ${ids.length ** 2}::bigint as few
    from vehicle where application_id = ${applicationId}`.execute(db);
  return rows[0]?.few ?? false;
}

/** All vehicles the caller may see, or those of them for which `filter` holds. */
export async function scopeOfCaller(db: Database, caller: Caller, filter?: VehicleFilter): Promise<VehicleScope> {
  const members = await findMembers(db, vehiclesOfCaller(caller, filter));
  const ids = [...members.keys()];
  if (!(await areFew(db, caller, ids)))
    return { condition: among(caller, ids), applicationId: caller.applicationId, members };
  return { condition: sql<boolean>`reading.vehicle_id = any(${ids}::integer[])`, members, few: ids };
}

/**
 * One vehicle.
 * @throws Failure UNKNOWN_VEHICLE; NO_DATA when `filter` does not hold for it
 */
export async function scopeOfVehicle(
  db: Database,
  caller: Caller,
  vehicleId: string,
  filter?: VehicleFilter,
): Promise<VehicleScope> {
  const { id } = await findVehicle(db, caller, vehicleId);
  const members = await findMembers(db, vehicleWithId(id, filter));
  if (members.size === 0) throw new Failure('NO_DATA');
  return { condition: sql<boolean>`reading.vehicle_id = ${id}`, members };
}
