import { invalidParameter } from '@odograph/contracts/failures';
import { parseVehicleId } from '@odograph/database/vehicle-access';
import type { ReadingKey } from '../continuation.ts';

/**
 * A place in the order in which readings were stored: by transaction, then batch, then the key of the reading. A key and no
 * count, so that a place holds when readings before it are purged.
 */
export interface ChangePosition extends ReadingKey {
  readonly transaction: bigint;
  readonly batch: bigint;
}

const form = /^(\d{1,18})-(\d{1,18})-(\d{1,18})-(\d{1,10})$/;
const latestTime = 253_402_300_799_999_999n;

/** Before everything that a transaction stored. */
export function startOf(transaction: bigint): ChangePosition {
  return { transaction, batch: 0n, time: 0n, vehicleId: 0 };
}

/** Behind everything of a batch. */
export function endOf(transaction: bigint, batch: bigint): ChangePosition {
  return { transaction, batch, time: latestTime, vehicleId: 2_147_483_647 };
}

/** The token that stands for a position. */
export function writePosition({ transaction, batch, time, vehicleId }: ChangePosition): string {
  return [transaction, batch, time, vehicleId].join('-');
}

/** @throws Failure INVALID_PARAMETER for text that no answer gave */
export function readPosition(text: string): ChangePosition {
  const [, transaction = '', batch = '', time = '', id = ''] = form.exec(text) ?? [];
  const vehicleId = id === '0' ? 0 : parseVehicleId(id);
  if (vehicleId === undefined || BigInt(time) > latestTime) {
    throw invalidParameter('after', 'must be `next` of an answer');
  }
  return { transaction: BigInt(transaction), batch: BigInt(batch), time: BigInt(time), vehicleId };
}
