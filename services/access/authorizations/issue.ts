import { randomUUID } from 'node:crypto';
import { Failure } from '@odograph/contracts/failures';
import { auditChange, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import { raiseListVersions } from '@odograph/database/vehicle-access';
import type { RequestContext } from '@odograph/http/http';
import { encryptionKey, sessionKey } from '@odograph/keyless/key-hierarchy';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { clockToleranceMs, encodeSignedPart, type Level, signToken } from '@odograph/keyless/token';
import type { Sealer } from '@odograph/runtime/sealing';
import { type DeviceKey, findVehicleKey } from '../device-keys/queries.ts';
import * as queries from './queries.ts';
import { type Interval, mayOpenVehicles } from './rules.ts';

/** Authorization token and session key of a phone; computed on every request and never stored. */
export interface Credentials {
  /**
   * base64url, as in the interface; both empty while the vehicle has no device or is archived, and for an API key that
   * must not open vehicles.
   */
  readonly token: string;
  readonly key: string;
}

const noCredentials: Credentials = { token: '', key: '' };

/** A new authorization with its credentials. */
export interface Issued extends Credentials {
  readonly authorization: queries.NewAuthorization;
}

export interface AuthorizationRequest extends Interval {
  /** Visible to the caller, and not archived. */
  readonly vehicleId: number;
  readonly driverId: string;
  readonly level: Level;
}

function tokenFields(device: DeviceKey, { id, level, from, until }: queries.NewAuthorization) {
  const { deviceId, keyVersion, epoch } = device;
  const interval = { notBeforeMs: from.getTime(), notAfterMs: until.getTime() };
  return { deviceId, keyVersion, epoch, authorizationId: id, level, ...interval };
}

const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

function credentialsFor(device: DeviceKey, authorization: queries.NewAuthorization): Credentials {
  const fields = tokenFields(device, authorization);
  const signed = encodeSignedPart(nodeCrypto, fields);
  return {
    token: encoded(signToken(nodeCrypto, device.key, fields)),
    key: encoded(sessionKey(nodeCrypto, device.key, signed)),
  };
}

/** Computes the token part that command strings are bound to, and `key` of the device commands record. */
export function commandSecrets(
  device: DeviceKey,
  authorization: queries.NewAuthorization,
): { signed: Uint8Array; key: string } {
  const signed = encodeSignedPart(nodeCrypto, tokenFields(device, authorization));
  return { signed, key: encoded(encryptionKey(nodeCrypto, device.key, signed)) };
}

/** Computes the credentials of an authorization for the device that is linked to its vehicle now; run it in a transaction. */
export async function findCredentials(
  db: Database,
  sealer: Sealer,
  authorization: queries.Authorization,
): Promise<Credentials> {
  const device = await findVehicleKey(db, sealer, authorization.vehicleId);
  return device ? credentialsFor(device, authorization) : noCredentials;
}

/** A device stores revoked authorizations until they expire, in little memory, and its key list must fit one packet. */
const maxPerVehicle = 2000;
/** Far below that, so that one user cannot use up the capacity of a vehicle by issuing and revoking. */
const maxPerUser = 100;

function tooMany(owner: string, count: number): Failure {
  const message = `the ${owner} has ${count} authorizations on the vehicle that are unexpired or expired less than 5 minutes ago, including revoked ones`;
  return new Failure('TOO_MANY_REQUESTS', message);
}

async function requireCapacity(db: Database, vehicleId: number, { caller, now }: RequestContext): Promise<void> {
  // Key lists keep revoked authorizations for this long after they expire.
  const since = new Date(now.getTime() - clockToleranceMs);
  if ((await queries.countEndingAfter(db, vehicleId, since)) >= maxPerVehicle) {
    throw tooMany('application', maxPerVehicle);
  }
  if (caller.userId === undefined) return;
  if ((await queries.countEndingAfter(db, vehicleId, since, caller.userId)) >= maxPerUser) {
    throw tooMany('user', maxPerUser);
  }
}

async function issue(
  db: Database,
  sealer: Sealer,
  authorization: queries.NewAuthorization,
  context: RequestContext,
): Promise<Issued> {
  const device = await findVehicleKey(db, sealer, authorization.vehicleId);
  if (!device) throw new Failure('INVALID_DEVICE', 'the vehicle has no device', { reason: 'NO_DEVICE' });
  await requireCapacity(db, authorization.vehicleId, context);
  await queries.insertAuthorization(db, authorization, context.caller.userId ?? null, context.now);
  const credentials = mayOpenVehicles(context.caller) ? credentialsFor(device, authorization) : noCredentials;
  return { authorization, ...credentials };
}

/**
 * Issues an authorization. Run it in a transaction, like all functions below, with the audit row last.
 * @throws Failure INVALID_DEVICE when the vehicle has no device, TOO_MANY_REQUESTS when its device or the user has too many
 */
export async function issueAuthorization(
  db: Database,
  sealer: Sealer,
  request: AuthorizationRequest,
  context: RequestContext,
): Promise<Issued> {
  return issue(db, sealer, { ...request, id: randomUUID() }, context);
}

/**
 * Replaces a locked authorization by a new one with another interval, which inherits a suspension.
 * @throws Failure as issueAuthorization does
 */
export async function replaceAuthorization(
  db: Database,
  sealer: Sealer,
  old: queries.Authorization,
  interval: Interval,
  context: RequestContext,
): Promise<Issued> {
  const { now } = context;
  const { vehicleId, driverId, level, suspendedUntil } = old;
  const suspension = suspendedUntil !== undefined && suspendedUntil > now ? { suspendedUntil } : {};
  const replacement = { id: randomUUID(), vehicleId, driverId, level, ...interval, ...suspension };
  const issued = await issue(db, sealer, replacement, context);
  await queries.markRevoked(db, old.id, now, replacement.id);
  if (old.until > now || suspension.suspendedUntil) await raiseListVersions(db, [vehicleId]);
  return issued;
}

/** Revokes a locked authorization. */
export async function revokeAuthorization(
  db: Database,
  { id, until, vehicleId }: queries.Authorization,
  now: Date,
): Promise<void> {
  await queries.markRevoked(db, id, now);
  if (until > now) await raiseListVersions(db, [vehicleId]);
}

/** Suspends a locked authorization until a time, or, with null, ends its suspension. */
export async function suspendAuthorization(
  db: Database,
  { id, vehicleId }: queries.Authorization,
  until: Date | null,
): Promise<void> {
  await queries.setSuspension(db, id, until);
  await raiseListVersions(db, [vehicleId]);
}

/** Appends an action on an authorization to the audit; the last statement of its transaction. */
export async function auditAuthorization(
  db: Database,
  { caller, address: ip }: RequestContext,
  action: 'create' | 'update' | 'delete' | 'suspend' | 'resume',
  id: string,
  details: Readonly<Record<string, string | number>>,
): Promise<void> {
  await auditChange(db, originOf({ caller, ip }), `authorization.${action}`, `authorization:${id}`, details);
}
