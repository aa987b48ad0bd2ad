import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import type { Database } from '@odograph/database/database';
import { stillUnconfirmed, type UnconfirmedBox } from './queries.ts';

const pollMs = 100;

export interface BoxWaiting {
  readonly db: Database;
  readonly ackTimeoutMs: number;
  /** Whether the device has a live session; throws when that cannot be told. */
  isPresent(deviceId: string): Promise<boolean>;
}

function notAll(boxes: readonly UnconfirmedBox[], reason: string): Failure {
  const message = `${boxes.length} of the boxes did not confirm; they hear of it as soon as they can be reached`;
  return new Failure('NOT_ALL_AUTHORIZATIONS_REVOKED', message, { reason });
}

/**
 * Waits until every box has confirmed what it was to hear of, at most `ackTimeoutMs`.
 * @throws Failure NOT_ALL_AUTHORIZATIONS_REVOKED; at once when one of them has no session
 */
export async function awaitBoxes(
  { db, ackTimeoutMs, isPresent }: BoxWaiting,
  boxes: readonly UnconfirmedBox[],
): Promise<void> {
  const endMs = performance.now() + ackTimeoutMs;
  let waiting = boxes;
  if (waiting.length === 0) return;
  const present = await Promise.all(waiting.map(({ deviceId }) => isPresent(deviceId).catch(() => true)));
  if (present.includes(false)) throw notAll(waiting, 'DEVICE_OFFLINE');
  for (;;) {
    waiting = await stillUnconfirmed(db, waiting);
    if (waiting.length === 0) return;
    if (performance.now() >= endMs) throw notAll(waiting, 'NO_ACKNOWLEDGEMENT');
    await delay(pollMs);
  }
}
