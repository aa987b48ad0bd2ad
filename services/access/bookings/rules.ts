import { Failure } from '@odograph/contracts/failures';
import { greatCircleMetres } from '@odograph/contracts/great-circle';

export type BookingType = 'BOOKING' | 'FREE_FLOATING';

/** From inclusive, until exclusive; without until it is open. */
export interface Interval {
  readonly from: Date;
  readonly until: Date | undefined;
}

/** What decides what can be done with a booking. */
export interface BookingTimes extends Interval {
  readonly type: BookingType;
  readonly stoppedAt: Date | undefined;
}

/** Where a booking is in its life; one that is deleted is found no more. */
export type BookingState = 'PLANNED' | 'ACTIVE' | 'ENDED' | 'STOPPED';

const earliestStartMs = 5 * 60_000;
const deletableMs = 10 * 60_000;
/** A vehicle that is as far from where it stood has been moved; less is what receivers are wrong by. */
const movedMetres = 50;

/** The state at a moment. */
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
 * Checks the period of a new or changed booking (interface specification, "Limits").
 * @param current the start it has already, which may lie as far back as it does
 * @throws Failure INVALID_INTERVAL: it starts too early, does not end after its start, or a BOOKING has no end
 */
export function requireInterval(type: BookingType, { from, until }: Interval, now: Date, current?: Date): void {
  const refuse = (field: string, message: string) => new Failure('INVALID_INTERVAL', message, { field });
  if (from.getTime() !== current?.getTime() && now.getTime() - from.getTime() > earliestStartMs) {
    throw refuse('from', 'from lies more than 5 minutes back');
  }
  if (until === undefined && type === 'BOOKING') throw refuse('until', 'a BOOKING needs until');
  if (until !== undefined && until <= from) throw refuse('until', 'until must lie after from');
}

/** @throws Failure BOOKING_EXPIRED when the booking is over */
export function requireUnfinished(booking: BookingTimes, now: Date): void {
  const state = stateAt(booking, now);
  if (state === 'ENDED' || state === 'STOPPED') throw new Failure('BOOKING_EXPIRED');
}

/** A free-floating booking that can still be given up because its driver could not get into the vehicle. */
export function isEarly({ type, from }: BookingTimes, now: Date): boolean {
  return type === 'FREE_FLOATING' && now.getTime() - from.getTime() <= deletableMs;
}

/** What readings say of a vehicle, in decimal degrees; undefined where they do not say. */
export interface Observation {
  readonly ignition: boolean | undefined;
  readonly movement: boolean | undefined;
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
}

interface Place {
  latitude: number;
  longitude: number;
}

const metresBetween = (from: Place, to: Place) =>
  greatCircleMetres(from.latitude, from.longitude, to.latitude, to.longitude);

/**
 * Whether a vehicle was used.
 * @param since what it reported from the start of the booking on
 * @param before where it last stood before, if that is known
 */
export function wasMoved(since: readonly Observation[], before: Place | undefined): boolean {
  if (since.some(({ ignition, movement }) => ignition || movement)) return true;
  const places = since.flatMap(({ latitude, longitude }) =>
    latitude === undefined || longitude === undefined ? [] : [{ latitude, longitude }],
  );
  const origin = before ?? places[0];
  return origin !== undefined && places.some((place) => metresBetween(origin, place) >= movedMetres);
}
