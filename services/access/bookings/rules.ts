import { Failure } from '@odograph/contracts/failures';
import { type Interval, latestEnd } from '../authorizations/rules.ts';

export type BookingType = 'BOOKING' | 'FREE_FLOATING';

/** `from` inclusive, `until` exclusive; undefined means open-ended. */
export interface BookingInterval {
  readonly from: Date;
  readonly until: Date | undefined;
}

/** The properties that decide what may be done with a booking. */
export interface BookingTimes extends BookingInterval {
  readonly type: BookingType;
  readonly stoppedAt: Date | undefined;
}

/** State of a booking. Deleted ones are not found at all. */
export type BookingState = 'PLANNED' | 'ACTIVE' | 'ENDED' | 'STOPPED';

const earliestStartMs = 5 * 60_000;
const deletableMs = 10 * 60_000;

/** Computes the state at a time. */
export function stateAt({ from, until, stoppedAt }: Omit<BookingTimes, 'type'>, now: Date): BookingState {
  if (stoppedAt !== undefined) return 'STOPPED';
  if (until !== undefined && until <= now) return 'ENDED';
  return from <= now ? 'ACTIVE' : 'PLANNED';
}

/** @throws Failure INVALID_BOOKING_TYPE */
export function requireType(type: string | undefined): BookingType {
  if (type !== 'BOOKING' && type !== 'FREE_FLOATING') throw new Failure('INVALID_BOOKING_TYPE');
  return type;
}

/**
 * Checks the interval of a new or changed booking (interface specification, "Limits").
 * @param currentFrom the current start, which may lie further in the past
 * @throws Failure INVALID_INTERVAL when it starts too early, does not end after its start and now, or a BOOKING has no end
 */
export function requireInterval(
  type: BookingType,
  { from, until }: BookingInterval,
  now: Date,
  currentFrom?: Date,
): void {
  const refuse = (field: string, message: string) => new Failure('INVALID_INTERVAL', message, { field });
  if (from.getTime() !== currentFrom?.getTime() && now.getTime() - from.getTime() > earliestStartMs) {
    throw refuse('from', 'from lies more than 5 minutes in the past');
  }
  if (until === undefined && type === 'BOOKING') throw refuse('until', 'a BOOKING needs until');
  if (until !== undefined && until <= from) throw refuse('until', 'until must lie after from');
  if (until !== undefined && until <= now) throw refuse('until', 'until lies in the past');
}

const dayMs = 24 * 3_600_000;
/** An offline device does not learn of an earlier end, so the authorization of an open-ended booking must expire. */
const openAuthorizationMs = 30 * dayMs;

/**
 * Computes the interval of a booking's authorization, which may end before a long booking.
 * @param maxMs maximum validity of an authorization token
 */
export function authorizationInterval({ from, until }: BookingInterval, now: Date, maxMs: number): Interval {
  if (until === undefined) return { from, until: latestEnd(from, now, Math.min(openAuthorizationMs, maxMs)) };
  const latest = latestEnd(from, now, maxMs);
  return { from, until: until < latest ? until : latest };
}

/** @throws Failure BOOKING_EXPIRED when the booking has ended */
export function requireUnfinished(booking: BookingTimes, now: Date): void {
  const state = stateAt(booking, now);
  if (state === 'ENDED' || state === 'STOPPED') throw new Failure('BOOKING_EXPIRED');
}

/** Tells whether a free-floating booking may still be deleted because its driver could not use the vehicle. */
export function isEarly({ type, from }: BookingTimes, now: Date): boolean {
  return type === 'FREE_FLOATING' && now.getTime() - from.getTime() <= deletableMs;
}
