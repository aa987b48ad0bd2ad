import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Microseconds } from '@odograph/contracts/timestamps';
import type { Database } from '@odograph/database/database';
import { vehicleMember } from '@odograph/database/reading-json';
import { accessibleTo, findVehicle } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';

/** The vehicles whose readings an answer contains. */
export interface VehicleScope {
  /** True for exactly their rows of the table reading. */
  readonly condition: RawBuilder<boolean>;
  /** Only readings of this application; a vehicle may have reported for another one before. */
  readonly applicationId?: number;
  /** Set when the vehicles are so few that searching keys per vehicle is faster than among all readings. */
  readonly few?: readonly number[];
  /** Member `"vehicle":{…}` of each vehicle. */
  readonly members: ReadonlyMap<number, string>;
}

/**
 * Builds a condition on `vehicle`. `candidates` is a condition on `candidate`, an alias of the same table, that narrows what
 * a subquery has to read.
 */
export type VehicleFilter = (candidates: RawBuilder<boolean>) => RawBuilder<boolean>;

const anyVehicle: VehicleFilter = () => sql<boolean>`true`;

/**
 * True for vehicles whose device model has a proprietary CAN protocol. An unlinked vehicle goes by its last device, whose
 * readings it keeps. "is true" makes PostgreSQL hash the subquery once, even without statistics.
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

/** True for the vehicles that the caller may see and that pass the filter. */
export function vehiclesOfCaller(caller: Caller, filter: VehicleFilter = anyVehicle): RawBuilder<boolean> {
  const passes = filter(sql<boolean>`candidate.application_id = ${caller.applicationId}`);
  return sql<boolean>`${accessibleTo(caller)} and ${passes}`;
}

/** True for the vehicle with this id if it passes the filter; does not check who may see it. */
export function vehicleWithId(id: number, filter: VehicleFilter = anyVehicle): RawBuilder<boolean> {
  return sql<boolean>`vehicle.id = ${id} and ${filter(sql<boolean>`candidate.id = ${id}`)}`;
}

async function findMembers(db: Database, condition: RawBuilder<boolean>): Promise<Map<number, string>> {
  const { rows } = await sql<{ id: number; member: string }>`
    select vehicle.id, ${vehicleMember} as member from vehicle where ${condition}`.execute(db);
  return new Map(rows.map(({ id, member }) => [id, member]));
}

function among({ applicationId }: Caller, ids: readonly number[]): RawBuilder<boolean> {
  // "is true" makes this a hashed filter on the index of the application, which has the order of the answer.
  return sql<boolean>`reading.application_id = ${applicationId}
    and (reading.vehicle_id in (select unnest(${ids}::integer[]))) is true`;
}

/**
 * Decides whether a user sees few of the application's vehicles. Reading a page for each vehicle costs a page per vehicle;
 * skipping the readings of all others costs a page per user's share of the fleet.
 */
async function areFew(db: Database, { applicationId, userId }: Caller, ids: readonly number[]): Promise<boolean> {
  if (userId === undefined) return false;
  const { rows } = await sql<{ few: boolean }>`select count(*) > ${ids.length ** 2}::bigint as few
    from vehicle where application_id = ${applicationId}`.execute(db);
  return rows[0]?.few ?? false;
}

/** Finds the vehicles that the caller may see, or those of them that pass `filter`. */
export async function scopeOfCaller(db: Database, caller: Caller, filter?: VehicleFilter): Promise<VehicleScope> {
  const members = await findMembers(db, vehiclesOfCaller(caller, filter));
  const ids = [...members.keys()];
  if (!(await areFew(db, caller, ids)))
    return { condition: among(caller, ids), applicationId: caller.applicationId, members };
  return { condition: sql<boolean>`reading.vehicle_id = any(${ids}::integer[])`, members, few: ids };
}

/**
 * Finds one vehicle.
 * @throws Failure UNKNOWN_VEHICLE; NO_DATA when it does not pass `filter`
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

/** When the oldest and the newest reading of some vehicles were taken. */
export interface ReadingBounds {
  readonly oldest: Microseconds;
  readonly newest: Microseconds;
}

/**
 * Finds bounds of the readings of a scope, so that a statement is not planned for chunks outside of them. Ingest keeps the
 * bounds in vehicle_latest; a vehicle without a row there has no readings.
 * @returns undefined when they are not known
 */
export async function findReadingBounds(db: Database, { members }: VehicleScope): Promise<ReadingBounds | undefined> {
  const { rows } = await sql<{ oldest: string | null; newest: string | null; known: boolean | null }>`
    select (extract(epoch from min(earliest_time)) * 1000000)::bigint::text as oldest,
      (extract(epoch from max(time)) * 1000000)::bigint::text as newest, bool_and(earliest_time is not null) as known
    from vehicle_latest where vehicle_id = any(${[...members.keys()]}::integer[])`.execute(db);
  const [row] = rows;
  if (!row?.known || row.oldest === null || row.newest === null) return undefined;
  return { oldest: BigInt(row.oldest), newest: BigInt(row.newest) };
}
