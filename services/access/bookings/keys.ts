import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import type { RequestContext } from '@odograph/http/request-context';
import type { Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import { type CommandsRecord, commandsRecord, findCommandsRecord } from '../authorizations/device-commands.ts';
import { type Issued, issueAuthorization, replaceAuthorization, revokeAuthorization } from '../authorizations/issue.ts';
import { type Authorization, lockAuthorization } from '../authorizations/queries.ts';
import type { Interval } from './rules.ts';

export interface KeyRequest {
  readonly vehicleId: number;
  readonly driverId: string;
  readonly interval: Interval;
}

const dayMs = 24 * 3_600_000;
/** An authorization ends, a booking need not; and a box that is offline cannot hear of an end that comes earlier. */
const openKeyMs = 30 * dayMs;

function periodOf({ from, until }: Interval, now: Date): { from: Date; until: Date } {
  return { from, until: until ?? new Date(Math.max(from.getTime(), now.getTime()) + openKeyMs) };
}

async function latestOf(db: Database, authorizationId: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`select latest_authorization(${authorizationId}) as id`.execute(db);
  return rows[0]?.id ?? authorizationId;
}

async function lockUnlessRevoked(db: Database, caller: Caller, id: string): Promise<Authorization | undefined> {
  try {
    return await lockAuthorization(db, caller, id);
  } catch (error) {
    if (error instanceof Failure && error.code === 'UNKNOWN_AUTHORIZATION') return undefined;
    throw error;
  }
}

/** The authorization that was linked, or what updates made of it meanwhile; undefined when it was revoked. */
async function lockLinked(db: Database, caller: Caller, linkedId: string): Promise<Authorization | undefined> {
  let id = await latestOf(db, linkedId);
  for (;;) {
    const authorization = await lockUnlessRevoked(db, caller, id);
    if (authorization) return authorization;
    const successor = await latestOf(db, id);
    if (successor === id) return undefined;
    id = successor;
  }
}

/** Makes the authorization of a booking. */
export async function issueKey(
  db: Database,
  sealer: Sealer,
  { vehicleId, driverId, interval }: KeyRequest,
  now: Date,
): Promise<Issued> {
  return issueAuthorization(db, sealer, { vehicleId, driverId, level: 'DRIVE', ...periodOf(interval, now) }, now);
}

/** Replaces the authorization of a booking that has changed; one that was revoked on its own is made anew. */
export async function renewKey(
  db: Database,
  sealer: Sealer,
  linkedId: string,
  request: KeyRequest,
  { caller, now }: RequestContext,
): Promise<Issued> {
  const linked = await lockLinked(db, caller, linkedId);
  if (!linked) return issueKey(db, sealer, request, now);
  return replaceAuthorization(db, sealer, linked, periodOf(request.interval, now), now);
}

/** Revokes the authorization of a booking that is over. */
export async function revokeKey(db: Database, linkedId: string, { caller, now }: RequestContext): Promise<void> {
  const linked = await lockLinked(db, caller, linkedId);
  if (linked) await revokeAuthorization(db, linked, now);
}

/** The device commands record of a new authorization; all of it is empty when the device has no Bluetooth. */
export async function findCommands(db: Database, sealer: Sealer, { authorization }: Issued): Promise<CommandsRecord> {
  try {
    return await findCommandsRecord(db, sealer, authorization);
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'INVALID_DEVICE')) throw error;
    const withoutBluetooth = { name: '', pin: '', actions: [], encrypted: [], outputs: {} };
    return commandsRecord(withoutBluetooth, undefined, authorization);
  }
}
