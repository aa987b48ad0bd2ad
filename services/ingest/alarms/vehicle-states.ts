import { greatCircleMetres } from '@odograph/contracts/positions';
import { appendAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy, type LinkedReading, type Parked, type Position, type PreviousState } from '../pipeline/readings.ts';

/** Metres from its parking position beyond which a vehicle counts as towed. */
const towingMetres = 200;

type Flag = 'towing' | 'accident';

/** A state flag to raise, with the device time of the reading that raises it. */
interface RaisedState {
  vehicleId: number;
  applicationId: number;
  flag: Flag;
  raisedBy: 'device' | 'platform';
  timeMicroseconds: number;
}

function metresBetween(from: Position, to: Position): number {
  return greatCircleMetres(from.latitude, from.longitude, to.latitude, to.longitude);
}

/** Returns the flags raised by devices' alarms. The end of an alarm lowers nothing; a person does. */
function statesFromAlarms(readings: readonly LinkedReading[]): RaisedState[] {
  const states: RaisedState[] = [];
  for (const { vehicleId, applicationId, timeMicroseconds, reading } of readings) {
    if (reading.alarms === undefined) continue;
    const raised = { vehicleId, applicationId, timeMicroseconds, raisedBy: 'device' } as const;
    if (reading.alarms.towing) states.push({ ...raised, flag: 'towing' });
    if (reading.alarms.crash) states.push({ ...raised, flag: 'accident' });
  }
  return states;
}

/** Returns the parking position after a reading; undefined when it does not change. */
function nextParked(parked: Parked | undefined, { timeMicroseconds, reading }: LinkedReading): Parked | undefined {
  const { status, location } = reading;
  if (status?.ignition === undefined || (parked && timeMicroseconds <= parked.sinceMicroseconds)) return undefined;
  if (status.ignition) {
    return parked?.location === null ? undefined : { location: null, sinceMicroseconds: timeMicroseconds };
  }
  if (!location || (parked?.location && metresBetween(parked.location, location) < towingMetres)) return undefined;
  const { latitude, longitude } = location;
  return { location: { latitude, longitude }, sinceMicroseconds: timeMicroseconds };
}

/**
 * Updates the parking position of one vehicle. A vehicle that moves 200 m with the ignition off is being towed.
 * @param readings of one vehicle, sorted by time; those older than the parking position are ignored
 */
function followParked(
  previous: Parked | undefined,
  readings: readonly LinkedReading[],
): { parked: Parked | undefined; raised: RaisedState[] } {
  let parked = previous;
  const raised: RaisedState[] = [];
  for (const linked of readings) {
    const next = nextParked(parked, linked);
    if (!next) continue;
    if (parked?.location && next.location) {
      const { vehicleId, applicationId, timeMicroseconds } = linked;
      raised.push({ vehicleId, applicationId, flag: 'towing', raisedBy: 'platform', timeMicroseconds });
    }
    parked = next;
  }
  return { parked, raised };
}

/** Finds the device times of the readings of one vehicle, sorted by time, to whose positions it was towed. */
export function findTows(previous: Parked | undefined, readings: readonly LinkedReading[]): ReadonlySet<number> {
  return new Set(followParked(previous, readings).raised.map(({ timeMicroseconds }) => timeMicroseconds));
}

async function writeParked(db: Database, changed: readonly { vehicleId: number; parked: Parked }[]): Promise<void> {
  if (changed.length === 0) return;
  const vehicles = changed.map(({ vehicleId }) => vehicleId);
  const locations = changed.map(({ parked }) => parked.location && JSON.stringify(parked.location));
  const times = changed.map(({ parked }) => parked.sinceMicroseconds);
  await sql`update vehicle_latest set parked_location = incoming.location,
      parked_at = timestamptz 'epoch' + incoming.time_us * interval '1 microsecond'
    from unnest(${vehicles}::integer[], ${locations}::jsonb[], ${times}::bigint[])
      as incoming (vehicle_id, location, time_us)
    where vehicle_latest.vehicle_id = incoming.vehicle_id`.execute(db);
}

/** Keeps the newest state of each vehicle: if it does not raise the flag, no older one does. */
function newestByVehicle(states: readonly RaisedState[]): Map<number, RaisedState> {
  const newest = new Map<number, RaisedState>();
  for (const state of states) {
    const known = newest.get(state.vehicleId);
    if (!known || known.timeMicroseconds < state.timeMicroseconds) newest.set(state.vehicleId, state);
  }
  return newest;
}

/**
 * Raises a flag in one statement, unless it is raised or a person lowered it after the reading's time. Rows are locked in
 * the order of their ids, like everywhere.
 * @returns the states that changed
 */
async function raiseStates(db: Database, flag: Flag, states: readonly RaisedState[]): Promise<RaisedState[]> {
  if (states.length === 0) return [];
  const newest = newestByVehicle(states);
  const times = [...newest.values()].map(({ timeMicroseconds }) => timeMicroseconds);
  const { rows } = await sql<{ id: number }>`
    with raised as (
      select vehicle.id from vehicle join unnest(${[...newest.keys()]}::integer[], ${times}::bigint[])
        as incoming (id, time_us) on incoming.id = vehicle.id
      where not ${sql.ref(flag)} and coalesce((states_lowered->>${sql.lit(flag)})::timestamptz
        < timestamptz 'epoch' + time_us * interval '1 microsecond', true)
      order by vehicle.id for no key update of vehicle)
    update vehicle set ${sql.ref(flag)} = true from raised where vehicle.id = raised.id
    returning vehicle.id`.execute(db);
  return rows.flatMap(({ id }) => newest.get(id) ?? []);
}

async function auditRaised(db: Database, { vehicleId, applicationId, flag, raisedBy }: RaisedState): Promise<void> {
  await appendAudit(db, {
    chain: applicationId,
    actor: raisedBy,
    address: '',
    action: `state.${flag}`,
    subject: `vehicle:${vehicleId}`,
    details: { state: true },
    outcome: 'done',
  });
}

/**
 * Raises the state flags of a batch (interface specification, "States and transitions") and updates parking positions.
 * A batch that changes neither runs no statement.
 */
export async function writeVehicleStates(
  db: Database,
  readings: readonly LinkedReading[],
  previous: readonly PreviousState[],
): Promise<void> {
  const byVehicle = groupBy(readings, ({ vehicleId }) => vehicleId);
  const followed = previous.map(({ vehicleId, parked }) => ({
    vehicleId,
    before: parked,
    ...followParked(parked, byVehicle.get(vehicleId) ?? []),
  }));
  await writeParked(
    db,
    followed.flatMap(({ vehicleId, before, parked }) => (parked && parked !== before ? [{ vehicleId, parked }] : [])),
  );
  const byFlag = groupBy(
    [...statesFromAlarms(readings), ...followed.flatMap(({ raised }) => raised)],
    ({ flag }) => flag,
  );
  const changed = [
    ...(await raiseStates(db, 'towing', byFlag.get('towing') ?? [])),
    ...(await raiseStates(db, 'accident', byFlag.get('accident') ?? [])),
  ];
  // An audit chain stays locked until the transaction ends. Taking chains last, and in one order, avoids deadlocks.
  for (const state of changed.sort((a, b) => a.applicationId - b.applicationId)) await auditRaised(db, state);
}
