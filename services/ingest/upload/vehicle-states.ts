import { greatCircleMetres } from '@odograph/contracts/great-circle';
import { appendAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { groupBy } from '../group-by.ts';
import type { PlacedReading } from './link-readings.ts';
import type { KnownVehicle, Parked, Position } from './write-latest-states.ts';

/** Metres that a vehicle may be found away from where it was parked before it counts as towed. */
const towingMetres = 200;

/** A state flag to raise, with the device time of the reading that tells. */
export interface RaisedState {
  vehicleId: number;
  applicationId: number;
  flag: 'towing' | 'accident';
  raisedBy: 'device' | 'platform';
  timeMicroseconds: number;
}

function metresBetween(from: Position, to: Position): number {
  return greatCircleMetres(from.latitude, from.longitude, to.latitude, to.longitude);
}

/** The flags that devices' own alarms raise. An alarm that is over lowers nothing: a person does. */
export function statesFromAlarms(readings: readonly PlacedReading[]): RaisedState[] {
  return readings.flatMap(({ vehicleId, applicationId, timeMicroseconds, reading }) => {
    const raised = { vehicleId, applicationId, timeMicroseconds, raisedBy: 'device' as const };
    return [
      ...(reading.alarms?.towing ? [{ ...raised, flag: 'towing' as const }] : []),
      ...(reading.alarms?.crash ? [{ ...raised, flag: 'accident' as const }] : []),
    ];
  });
}

/** What a reading says of a parked vehicle; undefined when it says nothing new. */
function nextParked(before: Parked | undefined, { timeMicroseconds, reading }: PlacedReading): Parked | undefined {
  const { status, location } = reading;
  if (status?.ignition === undefined || (before && timeMicroseconds <= before.sinceMicroseconds)) return undefined;
  if (status.ignition) {
    return before?.location === null ? undefined : { location: null, sinceMicroseconds: timeMicroseconds };
  }
  if (!location || (before?.location && metresBetween(before.location, location) < towingMetres)) return undefined;
  const { latitude, longitude } = location;
  return { location: { latitude, longitude }, sinceMicroseconds: timeMicroseconds };
}

/**
 * Follows one vehicle from where it was parked: found 200 m away with the ignition still off, it is being towed.
 * @param readings of one vehicle, sorted by time; those not newer than what is known are passed over
 */
export function followParked(
  parked: Parked | undefined,
  readings: readonly PlacedReading[],
): { parked: Parked | undefined; raised: RaisedState[] } {
  let now = parked;
  const raised: RaisedState[] = [];
  for (const placed of readings) {
    const next = nextParked(now, placed);
    if (!next) continue;
    if (now?.location && next.location) {
      const { vehicleId, applicationId, timeMicroseconds } = placed;
      raised.push({ vehicleId, applicationId, flag: 'towing', raisedBy: 'platform', timeMicroseconds });
    }
    now = next;
  }
  return { parked: now, raised };
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

/**
 * Raises a flag unless it is up, or a person lowered it after the moment the reading tells of.
 * @returns whether it did
 */
async function raiseState(db: Database, { vehicleId, flag, timeMicroseconds }: RaisedState): Promise<boolean> {
  const { rows } = await sql`update vehicle set ${sql.ref(flag)} = true
    where id = ${vehicleId} and not ${sql.ref(flag)} and coalesce((states_lowered->>${flag})::timestamptz
      < timestamptz 'epoch' + ${timeMicroseconds} * interval '1 microsecond', true)
    returning id`.execute(db);
  return rows.length > 0;
}

async function recordRaised(db: Database, { vehicleId, applicationId, flag, raisedBy }: RaisedState): Promise<void> {
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
 * Raises the flags that a batch tells of (interface specification, "States and transitions") and remembers where
 * vehicles are parked. Most batches change nothing and cost nothing.
 */
export async function writeStates(
  db: Database,
  readings: readonly PlacedReading[],
  known: readonly KnownVehicle[],
): Promise<void> {
  const groups = groupBy(readings, ({ vehicleId }) => vehicleId);
  const followed = known.map(({ vehicleId, parked }) => ({
    vehicleId,
    before: parked,
    ...followParked(parked, groups.get(vehicleId) ?? []),
  }));
  await writeParked(
    db,
    followed.flatMap(({ vehicleId, before, parked }) => (parked && parked !== before ? [{ vehicleId, parked }] : [])),
  );
  const raised = [...statesFromAlarms(readings), ...followed.flatMap((one) => one.raised)];
  const changed: RaisedState[] = [];
  for (const state of raised.sort((a, b) => a.vehicleId - b.vehicleId)) {
    if (await raiseState(db, state)) changed.push(state);
  }
  // A chain stays locked, so no vehicle is waited for behind it, and chains are always taken in one order.
  for (const state of changed.sort((a, b) => a.applicationId - b.applicationId)) await recordRaised(db, state);
}
