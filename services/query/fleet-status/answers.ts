import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { View } from '../latest/rules.ts';
import { findFleetFacts, findLatestReading } from './queries.ts';
import { fleetState, fleetStatus } from './rules.ts';

async function writeFleet(db: Database, vehicleId: number): Promise<string> {
  const facts = await findFleetFacts(db, vehicleId);
  if (!facts) throw new Failure('COMMUNICATION_FAILED', 'no device sits in the vehicle, or it never reported');
  return JSON.stringify(fleetStatus(facts));
}

async function writeDynamic(db: Database, vehicleId: number): Promise<string> {
  const latest = await findLatestReading(db, vehicleId);
  if (!latest) throw new Failure('NO_DATA');
  return `{${latest.members},"state":${JSON.stringify(latest.state)}}`;
}

/** What a vehicle reported stays readable without a device; the fleet keys are then left out. */
async function writeCombined(db: Database, vehicleId: number): Promise<string> {
  const latest = await findLatestReading(db, vehicleId);
  if (!latest) throw new Failure('COMMUNICATION_FAILED', 'the vehicle never reported');
  const facts = await findFleetFacts(db, vehicleId);
  const state = { ...latest.state, ...fleetState(latest.state) };
  const own = JSON.stringify({ ...(facts && fleetStatus(facts)), state });
  return `{${latest.members},${own.slice(1)}`;
}

/**
 * The latest status of a vehicle in each shape that GET /v1/vehicle/{id}/status has, as JSON text. They fail with NO_DATA
 * (dynamic) or COMMUNICATION_FAILED (fleet, and both at once) as the description of the route says.
 */
export const writeStatus: Readonly<Record<View, (db: Database, vehicleId: number) => Promise<string>>> = {
  dynamic: writeDynamic,
  fleet: writeFleet,
  combined: writeCombined,
};
