import type { Caller } from '@odograph/contracts/caller';
import { Failure, type FailureCode } from '@odograph/contracts/failures';
import { parseTimestamp, type Timestamp } from '@odograph/contracts/timestamps';
import type { Right } from '@odograph/http/operator-rights';
import { moment, text, timestamp, VehicleId } from '@odograph/http/schemas';
import type { Level } from '@odograph/keyless/token';
import Type from 'typebox';

/** `from` inclusive, `until` exclusive. */
export interface Interval {
  readonly from: Date;
  readonly until: Date;
}

/** The times that decide what may be done with an authorization. */
export interface AuthorizationTimes extends Interval {
  readonly suspendedUntil: Date | undefined;
}

export const categories = ['current', 'scheduled', 'expired'] as const;
export type Category = (typeof categories)[number];

function refusal(code: FailureCode, field: string, message: string): Failure {
  return new Failure(code, `${field} ${message}`, { field });
}

/** Parses a timestamp of a request, to the millisecond. @throws Failure INVALID_DATE naming the parameter */
export function parseDate(field: string, timestamp: Timestamp | undefined): Date {
  if (timestamp === undefined) throw refusal('INVALID_DATE', field, 'is missing');
  try {
    return new Date(Number(parseTimestamp(field, timestamp) / 1000n));
  } catch (error) {
    if (error instanceof Failure) throw new Failure('INVALID_DATE', error.message, { field });
    throw error;
  }
}

/** @throws Failure INVALID_LEVEL */
export function requireLevel(level: string | undefined): Level {
  if (level !== 'LOCK_UNLOCK' && level !== 'DRIVE') throw new Failure('INVALID_LEVEL', undefined, { field: 'level' });
  return level;
}

const dayMs = 24 * 3_600_000;

/** Computes the latest end of an authorization. @param maxMs maximum validity of an authorization token */
export function latestEnd(from: Date, now: Date, maxMs: number): Date {
  return new Date(Math.max(from.getTime(), now.getTime()) + maxMs);
}

/**
 * Checks the interval of a new or changed authorization. `from` may lie in the past, because a request for "from now on"
 * takes time to arrive.
 * @param maxMs maximum validity of an authorization token, counted from now if it started before
 * @throws Failure INVALID_INTERVAL when it does not end after its start or is too long, INVALID_DATE when it has ended
 */
export function requireInterval({ from, until }: Interval, now: Date, maxMs: number): void {
  if (until <= from) throw refusal('INVALID_INTERVAL', 'until', 'must lie after from');
  if (until <= now) throw refusal('INVALID_DATE', 'until', 'lies in the past');
  if (until > latestEnd(from, now, maxMs)) {
    throw refusal('INVALID_INTERVAL', 'until', `lies more than ${maxMs / dayMs} days after from`);
  }
}

/** A suspended authorization is current until its end. @throws Failure AUTHORIZATION_EXPIRED, AUTHORIZATION_NOT_ACTIVE */
function requireCurrent({ from, until }: Interval, now: Date): void {
  if (now >= until) throw new Failure('AUTHORIZATION_EXPIRED');
  if (now < from) throw new Failure('AUTHORIZATION_NOT_ACTIVE');
}

/**
 * Checks a suspension, which may also move the end of an earlier one. @returns its end
 * @throws Failure AUTHORIZATION_EXPIRED, AUTHORIZATION_NOT_ACTIVE; INVALID_DATE for an end in the past or beyond the end
 *   of the authorization
 */
export function requireSuspension(authorization: AuthorizationTimes, until: Timestamp | undefined, now: Date): Date {
  requireCurrent(authorization, now);
  const end = parseDate('until', until);
  if (end <= now) throw refusal('INVALID_DATE', 'until', 'lies in the past');
  if (end > authorization.until) throw refusal('INVALID_DATE', 'until', 'lies beyond the end of the authorization');
  return end;
}

/** @throws Failure AUTHORIZATION_EXPIRED, AUTHORIZATION_NOT_ACTIVE, NOT_SUSPENDED, in this order */
export function requireSuspended(authorization: AuthorizationTimes, now: Date): void {
  requireCurrent(authorization, now);
  const { suspendedUntil } = authorization;
  if (suspendedUntil === undefined || suspendedUntil <= now) throw new Failure('NOT_SUSPENDED');
}

export const route = { tags: ['bluetooth authorizations'] };
/** Rejects read-only operators and API keys without the scope `commands`, which must not open vehicles. */
export const opensVehicles = { right: ['operator', 'application'] as Right, scope: 'commands' } as const;

/** Tests whether a caller may receive what opens a vehicle; API keys without the scope `commands` may not. */
export const mayOpenVehicles = ({ apiKey }: Caller): boolean =>
  apiKey === undefined || apiKey.scopes.includes(opensVehicles.scope);

export const dates = {
  from: Type.Optional(timestamp('start')),
  until: Type.Optional(timestamp('end, exclusive')),
};
export const AuthorizationId = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'authorization identifier',
  examples: ['0197a1de-5f0e-7000-8000-000000000001'],
});
export const AuthorizationPath = Type.Object({ authorizationId: AuthorizationId });
export const DriverId = text(1, 256, { description: 'driver identifier', examples: ['driver-17'] });

const key = Type.String({ description: 'session key, base64url', examples: ['q83vEjRWeJCrze8SNFZ4kA'] });
const token = Type.String({ description: 'authorization token for Bluetooth, base64url', examples: ['AQIDBAUGBwg'] });
export const credentials = { token, key };
export const fields = {
  vehicleId: VehicleId,
  userId: DriverId,
  from: moment('start, inclusive'),
  until: moment('end, exclusive'),
};
