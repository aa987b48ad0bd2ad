import { Failure, type FailureCode } from '@odograph/contracts/failures';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import type { Level } from '@odograph/keyless/token';

/** From inclusive, until exclusive. */
export interface Period {
  readonly from: Date;
  readonly until: Date;
}

/** What decides what can be done with an authorization. */
export interface AuthorizationTimes extends Period {
  readonly suspendedUntil: Date | undefined;
}

export const categories = ['current', 'scheduled', 'expired'] as const;
export type Category = (typeof categories)[number];

/** The list that an authorization is in at a moment; a suspended one stays where it is. */
export function categoryAt({ from, until }: Period, now: Date): Category {
  if (now < from) return 'scheduled';
  return now < until ? 'current' : 'expired';
}

function refusal(code: FailureCode, field: string, message: string): Failure {
  return new Failure(code, `${field} ${message}`, { field });
}

/** A moment that a client gave, to the millisecond. @throws Failure INVALID_DATE naming the parameter */
export function parseDate(field: string, text: string | undefined): Date {
  if (text === undefined) throw refusal('INVALID_DATE', field, 'is missing');
  try {
    return new Date(Number(parseTimestamp(field, text) / 1000n));
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

/**
 * Checks the period of a new or changed authorization. It may have begun before: by the time a request for "from now on"
 * arrives, now is past.
 * @throws Failure INVALID_INTERVAL when it does not end after its start, INVALID_DATE when it is over already
 */
export function requirePeriod({ from, until }: Period, now: Date): void {
  if (until <= from) throw refusal('INVALID_INTERVAL', 'until', 'must lie after from');
  if (until <= now) throw refusal('INVALID_DATE', 'until', 'lies in the past');
}

function requireCurrent(period: Period, now: Date): void {
  const category = categoryAt(period, now);
  if (category === 'expired') throw new Failure('AUTHORIZATION_EXPIRED');
  if (category === 'scheduled') throw new Failure('AUTHORIZATION_NOT_ACTIVE');
}

/**
 * The end of a suspension that may be. One that is suspended already gets the new end.
 * @throws Failure AUTHORIZATION_EXPIRED, AUTHORIZATION_NOT_ACTIVE; INVALID_DATE for an end that is past or lies beyond the
 *   end of the authorization
 */
export function requireSuspension(authorization: AuthorizationTimes, until: string | undefined, now: Date): Date {
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
