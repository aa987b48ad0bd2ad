import { invalidParameter } from '@odograph/contracts/failures';
import type { Microseconds } from '@odograph/contracts/timestamps';
import { parseVehicleId } from '@odograph/database/vehicle-access';

/** What tells one reading from every other, and orders them. */
export interface ReadingKey {
  readonly time: Microseconds;
  readonly vehicleId: number;
}

const form = /^(\d{1,18})-(\d{10})$/;
const latest: Microseconds = 253_402_300_799_999_999n;

/** The parameter `after` of a continuation: microseconds and vehicle id of the last reading that was sent. */
export function writeContinuation({ time, vehicleId }: ReadingKey): string {
  return `${time}-${vehicleId}`;
}

/** @throws Failure INVALID_PARAMETER for text that no answer gave */
export function readContinuation(text: string): ReadingKey {
  const [, time, id] = form.exec(text) ?? [];
  const vehicleId = id === undefined ? undefined : parseVehicleId(id);
  if (time === undefined || vehicleId === undefined || BigInt(time) > latest) {
    throw invalidParameter('after', 'must be taken from the Link of an answer');
  }
  return { time: BigInt(time), vehicleId };
}
