import { Failure, invalidParameter } from '@odograph/contracts/failures';
import type { Microseconds } from '@odograph/contracts/timestamps';

/**
 * A cursor in the order in which readings were stored: by transaction, then batch, then the key of the reading. A key, not
 * a count, so that it stays valid when earlier readings are purged.
 */
export interface ChangeCursor {
  /** Another one after a restore; transaction numbers of different epochs are not comparable. */
  readonly epoch: bigint;
  readonly transaction: bigint;
  readonly batch: bigint;
  readonly time: Microseconds;
  readonly vehicleId: number;
}

/** A cursor in the list of events. Within a transaction, readings come before the events that they caused. */
export interface EventCursor extends ChangeCursor {
  /** Number of the last event of the transaction before the cursor; 0 while only readings are. */
  readonly event: bigint;
}

const latestTime = 253_402_300_799_999_999n;

/** Returns the cursor before all readings and events of a transaction. */
export function startOf(epoch: bigint, transaction: bigint): EventCursor {
  return { epoch, transaction, event: 0n, batch: 0n, time: 0n, vehicleId: 0 };
}

/** Returns the cursor after a whole batch of readings. */
export function endOf(epoch: bigint, transaction: bigint, batch: bigint): ChangeCursor {
  return { epoch, transaction, batch, time: latestTime, vehicleId: 2_147_483_647 };
}

/** Whether one cursor of the list lies before another of the same epoch. */
export function isBefore(one: EventCursor, other: EventCursor): boolean {
  for (const key of ['transaction', 'event', 'batch', 'time', 'vehicleId'] as const) {
    if (one[key] !== other[key]) return one[key] < other[key];
  }
  return false;
}

const form = /^(\d{1,18})-(\d{1,18})(?:-(?:e(\d{1,18})|r(\d{1,18})-(\d{1,18})-(\d{1,10})))?$/;

/** Formats a cursor as opaque text of at most 80 characters. */
export function formatCursor({ epoch, transaction, event, batch, time, vehicleId }: EventCursor): string {
  if (event > 0n) return `${epoch}-${transaction}-e${event}`;
  return batch > 0n ? `${epoch}-${transaction}-r${batch}-${time}-${vehicleId}` : `${epoch}-${transaction}`;
}

/** Parses a cursor. @param field the parameter, for the failure. @throws Failure INVALID_PARAMETER for any other text */
export function parseCursor(text: string, field = 'after'): EventCursor {
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
  /** Rows of this transaction and of earlier ones may have been deleted. */
  readonly forgottenUntil: bigint;
  /** The snapshot is that of a replica, which may lag behind the database that issued a cursor. */
  readonly isReplica: boolean;
}

/**
 * Checks that nothing behind a cursor was deleted, or lost in a restore of the database.
 * @param field the parameter that holds the cursor
 * @param write formats the oldest cursor for that parameter
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED and the oldest cursor that is kept
 */
export function requireKept(after: ChangeCursor, state: FeedState, field = 'after', write = formatCursor): void {
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
