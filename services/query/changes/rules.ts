import { invalidParameter } from '@odograph/contracts/failures';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import { type ChangePosition, type FeedState, requireKept, startOf } from '@odograph/event-list/position';

const form = /^(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,10})$/;
const latestTime = 253_402_300_799_999_999n;

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

/**
 * Decides where a page starts.
 * @throws Failure INVALID_PARAMETER with the reason EXPIRED when changes after `after` may have been deleted, or lost in a
 * restore of the database
 */
export function startAt(after: ChangePosition | undefined, state: FeedState): ChangePosition {
  if (after === undefined) return startOf(state.epoch, 0n);
  requireKept(after, state, 'after', writePosition);
  return after;
}
