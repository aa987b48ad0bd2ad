import { compileModelDatabase } from '@odograph/codec/can/decode';
import { avlTable } from '@odograph/codec/teltonika/avl-table';
import type { AvlFamily } from '@odograph/contracts/device-models';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

/** Units by key of CAN data. */
type Units = ReadonlyMap<string, string>;

/** Caches the units of DBC files by hash, because parsing a large file takes a tenth of a second. */
const unitsByFile = new Map<string, Units>();
const maxFiles = 100;

async function unitsOfFile(db: Database, sha256: string): Promise<Units> {
  const cached = unitsByFile.get(sha256);
  if (cached) return cached;
  const { rows } = await sql<{ dbc: string }>`
    select dbc from can_database where sha256 = ${sha256} limit 1`.execute(db);
  const { units } = compileModelDatabase(rows[0]?.dbc ?? '');
  if (unitsByFile.size >= maxFiles) unitsByFile.clear();
  unitsByFile.set(sha256, units);
  return units;
}

function unitsOfFamily(family: AvlFamily | null): (readonly [key: string, unit: string])[] {
  return [...avlTable(family ?? undefined).values()].flatMap(({ name, unit }) => (unit ? [[name, unit] as const] : []));
}

/** Finds the units of CAN data of a vehicle: those of its Teltonika device, and of the DBC file of its model. */
export async function findKeyUnits(db: Database, vehicleId: number): Promise<Units> {
  const { rows } = await sql<{ sha256: string | null; protocol: string | null; family: AvlFamily | null }>`
    select can_database.sha256, device_model.protocol, device_model.family from vehicle
    left join can_database on lower(can_database.model) = lower(vehicle.model)
    left join device_link on device_link.vehicle_id = vehicle.id and device_link.period @> now()
    left join device on device.id = device_link.device_id
    left join device_model on device_model.id = device.model_id
    where vehicle.id = ${vehicleId} limit 1`.execute(db);
  const { sha256, protocol, family } = rows[0] ?? {};
  const ofDevice = protocol === 'teltonika' ? unitsOfFamily(family ?? null) : [];
  return new Map([...ofDevice, ...(sha256 ? await unitsOfFile(db, sha256) : [])]);
}
