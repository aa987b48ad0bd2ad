import { appendAudit } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { followParked, type Parked, type RaisedState, statesFromAlarms } from './detect-states.ts';
import { groupBy } from './group-by.ts';
import type { PlacedReading } from './place-readings.ts';
import type { KnownVehicle } from './write-latest.ts';

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
