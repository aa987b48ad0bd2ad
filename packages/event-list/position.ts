import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Microseconds } from '@odograph/contracts/timestamps';

/**
 * A position in the order in which readings were stored: by transaction, then batch, then the key of the reading. A key, not
 * a count, so that it stays valid when earlier readings are purged.
 */
export interface ChangePosition {
  /** Another one after a restore; transaction numbers of different epochs are not comparable. */
  readonly epoch: bigint;
  readonly transaction: bigint;
  readonly batch: bigint;
  readonly time: Microseconds;
  readonly vehicleId: number;
}

/** A position in the list of events. Within a transaction, readings come before the events that they caused. */
export interface EventPosition extends ChangePosition {
  /** Number of the last event of the transaction before the position; 0 while only readings are. */
  readonly event: bigint;
}

const latestTime = 253_402_300_799_999_999n;

/** Returns the position before all readings and events of a transaction. */
export function startOf(epoch: bigint, transaction: bigint): EventPosition {
  return { epoch, transaction, event: 0n, batch: 0n, time: 0n, vehicleId: 0 };
}

/** Returns the position after a whole batch of readings. */
export function endOf(epoch: bigint, transaction: bigint, batch: bigint): ChangePosition {
  return { epoch, transaction, batch, time: latestTime, vehicleId: 2_147_483_647 };
}

/** Whether one position of the list lies before another of the same epoch. */
export function isBefore(one: EventPosition, other: EventPosition): boolean {
  for (const key of ['transaction', 'event', 'batch', 'time', 'vehicleId'] as const) {
    if (one[key] !== other[key]) return one[key] < other[key];
  }
  return false;
}

/** The longest text of a position. */
const form = /^(\d{1,18})-(\d{1,18})(?:-(?:e(\d{1,18})|r(\d{1,18})-(\d{1,18})-(\d{1,10})))?$/;

/** Formats a position as opaque text of at most 80 characters. */
export function writePosition({ epoch, transaction, event, batch, time, vehicleId }: EventPosition): string {
  if (event > 0n) return `${epoch}-${transaction}-e${event}`;
  return batch > 0n ? `${epoch}-${transaction}-r${batch}-${time}-${vehicleId}` : `${epoch}-${transaction}`;
}

/** Parses a position. @param field the parameter, for the failure. @throws Failure INVALID_PARAMETER for any other text */
export function readPosition(text: string, field = 'after'): EventPosition {
  const match = form.exec(text);
  const [, epoch = '', transaction = '', event = '0', batch = '0', time = '0', vehicleId = '0'] = match ?? [];
  const number = Number(vehicleId);
  if (!match || BigInt(time) > latestTime || number > 2_147_483_647) {
    throw invalidParameter(field, 'must be a position that an answer contained');
  }
  return {
    epoch: BigInt(epoch),
    transaction: BigInt(transaction),
    event: BigInt(event),
    batch: BigInt(batch),
    time: BigInt(time),
    vehicleId: number,
  };
}

/** State of a feed in a snapshot. */
export interface FeedState {
  readonly epoch: bigint;
  /** Earlier transactions have ended, and what they stored is visible. Later ones may become visible in any order. */
  readonly horizon: bigint;
  /** What this transaction and earlier ones stored may have been deleted. */
  readonly forgottenUntil: bigint;
  /** The snapshot is that of a replica, which may lag behind the database that issued a position. */
  readonly isReplica: boolean;
}

/**
 * Checks that nothing behind a position was deleted, or lost in a restore of the database.
 * @param field the parameter that holds the position
 * @param write formats the oldest position for that parameter
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED and the oldest position that is kept
 */
export function requireKept(after: ChangePosition, state: FeedState, field = 'after', write = writePosition): void {
  const { epoch, horizon, forgottenUntil, isReplica } = state;
  const wasRestored = after.epoch !== epoch || (after.transaction > horizon && !isReplica);
  if (!wasRestored && after.transaction > forgottenUntil) return;
  const reason = wasRestored
    ? `${field} is a position from before the database was restored`
    : `${field} lies before the oldest change that is kept`;
  const message = `${reason}; read the history, then continue with oldest or without ${field}`;
  const oldest = write(startOf(epoch, forgottenUntil + 1n));
  throw new Failure('INVALID_PARAMETER', message, { field, reason: 'EXPIRED', oldest });
}
