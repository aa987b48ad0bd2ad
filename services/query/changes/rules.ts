import { Failure, invalidParameter } from '@odograph/contracts/failures';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import type { ReadingKey } from '../reading-keys.ts';

/**
 * A position in the order in which readings were stored: by transaction, then batch, then the key of the reading. A key, not
 * a count, so that it stays valid when earlier readings are purged.
 */
export interface ChangePosition extends ReadingKey {
  /** Another one after a restore; transaction numbers of different epochs are not comparable. */
  readonly epoch: bigint;
  readonly transaction: bigint;
  readonly batch: bigint;
}

const form = /^(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,10})$/;
const latestTime = 253_402_300_799_999_999n;

/** Returns the position before all readings of a transaction. */
export function startOf(epoch: bigint, transaction: bigint): ChangePosition {
  return { epoch, transaction, batch: 0n, time: 0n, vehicleId: 0 };
}

/** Returns the position after a whole batch. */
export function endOf(epoch: bigint, transaction: bigint, batch: bigint): ChangePosition {
  return { epoch, transaction, batch, time: latestTime, vehicleId: 2_147_483_647 };
}

/** Formats a position as the opaque text `next`. */
export function writePosition({ epoch, transaction, batch, time, vehicleId }: ChangePosition): string {
  return [epoch, transaction, batch, time, vehicleId].join('-');
}

/** Parses `next` of an earlier answer. @throws Failure INVALID_PARAMETER for any other text */
export function readPosition(text: string): ChangePosition {
  const [, epoch = '', transaction = '', batch = '', time = '', id = ''] = form.exec(text) ?? [];
  const vehicleId = id === '0' ? 0 : parseVehicleId(id);
  if (vehicleId === undefined || BigInt(time) > latestTime) {
    throw invalidParameter('after', 'must be `next` of an answer');
  }
  return {
    epoch: BigInt(epoch),
    transaction: BigInt(transaction),
    batch: BigInt(batch),
    time: BigInt(time),
    vehicleId,
  };
}

/** State of the feed of an application in a snapshot. */
export interface FeedState {
  readonly epoch: bigint;
  /** Earlier transactions have ended, and their readings are visible. Later ones may become visible in any order. */
  readonly horizon: bigint;
  /** Changes of this transaction and of earlier ones may have been deleted. */
  readonly forgottenUntil: bigint;
  /** The snapshot is that of a replica, which may lag behind the database that issued a position. */
  readonly isReplica: boolean;
}

/**
 * Decides where a page starts.
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED when changes after `after` may have been deleted, or lost in a
 * restore of the database
 */
export function startAt(after: ChangePosition | undefined, state: FeedState): ChangePosition {
  const { epoch, horizon, forgottenUntil, isReplica } = state;
  if (after === undefined) return startOf(epoch, 0n);
  const wasRestored = after.epoch !== epoch || (after.transaction > horizon && !isReplica);
  if (!wasRestored && after.transaction > forgottenUntil) return after;
  const reason = wasRestored
    ? 'after is a position from before the database was restored'
    : 'after lies before the oldest change that is kept';
  const message = `${reason}; read the history, then continue without after`;
  throw new Failure('INVALID_PARAMETER', message, { field: 'after', reason: 'EXPIRED' });
}

/** An interval of time as ISO 8601: `from` inclusive, `until` exclusive. */
export interface Interval {
  readonly from: string;
  readonly until: string;
}

const dayMs = 86_400_000;
/** Each interval is a branch of one statement. */
const mostIntervals = 100;

/**
 * Covers days by intervals of a few days each. The readings of a page lie in few of many days, and a branch limited to a
 * short interval is planned for few chunks.
 * @param days since the epoch, ascending
 * @param length days in an interval, doubled until the intervals are few enough
 */
export function coverDays(days: readonly number[], length = 4): Interval[] {
  const starts: number[] = [];
  for (const day of days) {
    const last = starts.at(-1);
    if (last === undefined || day >= last + length) starts.push(day);
  }
  if (starts.length > mostIntervals) return coverDays(days, length * 2);
  const iso = (day: number) => new Date(day * dayMs).toISOString();
  return starts.map((start) => ({ from: iso(start), until: iso(start + length) }));
}
