import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { latestMembers } from '@odograph/database/reading-json';
import { findVehicle } from '@odograph/database/vehicle-access';
import { type RawBuilder, sql } from 'kysely';
import type { ListRow } from '../answers.ts';
import { hasProprietaryCan, vehiclesOfCaller, vehicleWithId } from '../vehicle-scope.ts';

const source = sql`from vehicle join vehicle_latest on vehicle_latest.vehicle_id = vehicle.id`;

/** Selects the latest CAN data of every vehicle with a proprietary CAN protocol and an id greater than `lastId`. */
export function latestCustomCan(caller: Caller, lastId: number): RawBuilder<ListRow> {
  return sql<ListRow>`select vehicle.id, concat('{', ${latestMembers.customCan}, '}') as json ${source}
    where ${vehiclesOfCaller(caller, hasProprietaryCan)} and vehicle.id > ${lastId} order by vehicle.id`;
}

/**
 * Reads the latest CAN data of one vehicle as JSON text.
 * @throws Failure UNKNOWN_VEHICLE; NO_DATA without data or without a proprietary CAN protocol
 */
export async function findLatestCustomCan(db: Database, caller: Caller, vehicleId: string): Promise<string> {
  const { id } = await findVehicle(db, caller, vehicleId);
  const { rows } = await sql<{ json: string }>`select concat('{', ${latestMembers.customCan}, '}') as json ${source}
    where ${vehicleWithId(id, hasProprietaryCan)}`.execute(db);
  if (!rows[0]) throw new Failure('NO_DATA');
  return rows[0].json;
}
