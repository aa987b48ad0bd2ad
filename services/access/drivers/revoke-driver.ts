import { setTimeout as delay } from 'node:timers/promises';
import { Failure } from '@odograph/contracts/failures';
import { appendAudit, originOf } from '@odograph/database/audit';
import type { Database } from '@odograph/database/database';
import type { RequestContext } from '@odograph/http/http';
import { type AccessOptions, changeAccess } from '../access-options.ts';
import * as queries from './queries.ts';

const pollMs = 100;

export interface RevocationOptions extends AccessOptions {
  /** How long to wait for devices to confirm their key lists. */
  readonly ackTimeoutMs: number;
  /** Whether the device has a live session; throws while that is unknown. */
  isConnected(deviceId: string): Promise<boolean>;
}

function notAll(devices: readonly queries.UnconfirmedDevice[], reason: string): Failure {
  const message = `${devices.length} devices have not confirmed the revocation; they receive it once they are connected`;
  return new Failure('NOT_ALL_AUTHORIZATIONS_REVOKED', message, { reason });
}

async function awaitConfirmations(
  db: Database,
  { ackTimeoutMs, isConnected }: RevocationOptions,
  devices: readonly queries.UnconfirmedDevice[],
): Promise<void> {
  const endMs = performance.now() + ackTimeoutMs;
  let waiting = devices;
  if (waiting.length === 0) return;
  const connected = await Promise.all(waiting.map(({ deviceId }) => isConnected(deviceId).catch(() => true)));
  if (connected.includes(false)) throw notAll(waiting, 'DEVICE_OFFLINE');
  for (;;) {
    waiting = await queries.filterUnconfirmed(db, waiting);
    if (waiting.length === 0) return;
    if (performance.now() >= endMs) throw notAll(waiting, 'NO_ACKNOWLEDGEMENT');
    await delay(pollMs);
  }
}

/**
 * Revokes all authorizations of a driver that the caller may see, and waits until their devices have confirmed it.
 * @throws Failure NOT_ALL_AUTHORIZATIONS_REVOKED after `ackTimeoutMs`; at once when a device has no session
 */
export async function revokeDriver(
  options: RevocationOptions,
  { caller, address: ip, now }: RequestContext,
  driverId: string,
): Promise<void> {
  const { db } = options;
  await changeAccess(options, async (trx) => {
    const authorizations = await queries.revokeAuthorizations(trx, caller, driverId, now);
    await appendAudit(trx, {
      ...originOf({ caller, ip }),
      action: 'driver.delete',
      subject: `driver:${driverId}`,
      details: { authorizations },
      outcome: 'done',
    });
  });
  await awaitConfirmations(db, options, await queries.findUnconfirmed(db, caller, driverId, now));
}
