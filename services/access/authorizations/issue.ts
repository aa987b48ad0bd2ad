import { randomUUID } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { appendAudit } from '@odograph/database/audit';
import { originOf } from '@odograph/database/audit-origin';
import type { Database } from '@odograph/database/database';
import type { RequestContext } from '@odograph/http/request-context';
import type { Level } from '@odograph/keyless/token';
import type { Sealer } from '@odograph/runtime/sealing';
import { findVehicleKey } from '../device-keys/queries.ts';
import { type Credentials, credentialsFor } from './credentials.ts';
import * as queries from './queries.ts';
import type { Period } from './rules.ts';

/** A new authorization, and the credentials that open the vehicle by it. */
export interface Issued extends Credentials {
  readonly authorization: queries.NewAuthorization;
}

export interface AuthorizationRequest extends Period {
  /** One that the caller may see, and that is not archived. */
  readonly vehicleId: number;
  readonly driverId: string;
  readonly level: Level;
}

/** A box keeps what was revoked until it would have ended, in a memory that is small, and a packet holds no more. */
const unexpiredPerVehicle = 2000;

async function requireRoom(db: Database, vehicleId: number, now: Date): Promise<void> {
  if ((await queries.countUnexpired(db, vehicleId, now)) < unexpiredPerVehicle) return;
  const message = `the vehicle has ${unexpiredPerVehicle} authorizations that are not over, revoked ones included`;
  throw new Failure('TOO_MANY_REQUESTS', message);
}

async function issue(
  db: Database,
  sealer: Sealer,
  authorization: queries.NewAuthorization,
  now: Date,
): Promise<Issued> {
  const device = await findVehicleKey(db, sealer, authorization.vehicleId);
  if (!device) throw new Failure('INVALID_DEVICE', 'the vehicle has no device', { reason: 'NO_DEVICE' });
  await requireRoom(db, authorization.vehicleId, now);
  await queries.insertAuthorization(db, authorization, now);
  return { authorization, ...credentialsFor(device, authorization) };
}

/**
 * Makes an authorization; run it in a transaction, as all of these, and append to the audit at its end.
 * @throws Failure INVALID_DEVICE when the vehicle has no device, TOO_MANY_REQUESTS when its box can keep no more
 */
export async function issueAuthorization(
  db: Database,
  sealer: Sealer,
  request: AuthorizationRequest,
  now: Date,
): Promise<Issued> {
  return issue(db, sealer, { ...request, id: randomUUID() }, now);
}

/**
 * Replaces a locked authorization by one with another period; a suspension goes on in the new one.
 * @throws Failure as issueAuthorization does
 */
export async function replaceAuthorization(
  db: Database,
  sealer: Sealer,
  old: queries.Authorization,
  period: Period,
  now: Date,
): Promise<Issued> {
  const { vehicleId, driverId, level, suspendedUntil } = old;
  const suspension = suspendedUntil !== undefined && suspendedUntil > now ? { suspendedUntil } : {};
  const fresh = { id: randomUUID(), vehicleId, driverId, level, ...period, ...suspension };
  const issued = await issue(db, sealer, fresh, now);
  await queries.markRevoked(db, old.id, now, fresh.id);
  if (old.until > now || suspension.suspendedUntil) await queries.raiseListVersions(db, [vehicleId]);
  return issued;
}

/** Revokes a locked authorization. */
export async function revokeAuthorization(
  db: Database,
  { id, until, vehicleId }: queries.Authorization,
  now: Date,
): Promise<void> {
  await queries.markRevoked(db, id, now);
  if (until > now) await queries.raiseListVersions(db, [vehicleId]);
}

/** Suspends a locked authorization until a moment, or, with null, ends its suspension. */
export async function suspendAuthorization(
  db: Database,
  { id, vehicleId }: queries.Authorization,
  until: Date | null,
): Promise<void> {
  await queries.setSuspension(db, id, until);
  await queries.raiseListVersions(db, [vehicleId]);
}

/** Adds what was done with an authorization to the audit; the last statement of its transaction. */
export async function auditAuthorization(
  db: Database,
  { caller, address: ip }: RequestContext,
  action: 'create' | 'update' | 'delete' | 'suspend' | 'resume',
  id: string,
  details: Readonly<Record<string, string | number>>,
): Promise<void> {
  await appendAudit(db, {
    ...originOf({ caller, ip }),
    action: `authorization.${action}`,
    subject: `authorization:${id}`,
    details,
    outcome: 'done',
  });
}
