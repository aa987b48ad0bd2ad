import { deviceRevokedChannel } from '@odograph/contracts/presence';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import { type CredentialStore, validUntil } from '../connect/credentials.ts';
import type { BackgroundFailures } from '../failures.ts';
import type { DeviceSession } from './session.ts';
import type { SessionRegistry } from './session-registry.ts';

const retryMs = 1000;

export interface RevocationOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry;
  readonly credentials: CredentialStore;
  readonly failures: BackgroundFailures;
  readonly logger: Logger;
}

/**
 * Closes the sessions of devices that were deleted or whose secret or certificate was revoked. Messages sent while this
 * broker was not subscribed are lost, so every session is checked again once it is.
 * @returns ends it
 */
export function disconnectRevokedDevices(options: RevocationOptions): () => void {
  const { subscriber, prefix, registry, credentials, failures, logger } = options;
  const channel = deviceRevokedChannel(prefix);
  let hasMissed = false;
  let retry: NodeJS.Timeout | undefined;

  const disconnect = (session: DeviceSession): void => {
    logger.info({ deviceId: session.deviceId }, 'session closed: credentials revoked');
    session.client.close();
  };
  const recheck = async (session: DeviceSession): Promise<void> => {
    const stored = await credentials.find(session.deviceId);
    const isRevoked = session.credentials.some((credential) => validUntil(credential, stored, Date.now()) === 0);
    if (isRevoked) disconnect(session);
  };
  const subscribe = async (): Promise<void> => {
    await subscriber.subscribe(channel);
    if (!hasMissed) return;
    hasMissed = false;
    credentials.invalidateAll();
    const results = await Promise.allSettled([...registry.sessions].map(recheck));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  };
  const subscribeOrRetry = async (): Promise<void> => {
    clearTimeout(retry);
    try {
      await subscribe();
      failures.succeeded('revocations');
    } catch (error) {
      hasMissed = true;
      failures.failed('revocations', error);
      // While Redis is unavailable, its 'ready' event triggers the next attempt.
      if (subscriber.status === 'ready') retry = setTimeout(() => void subscribeOrRetry(), retryMs);
    }
  };

  subscriber.on('close', () => {
    hasMissed = true;
  });
  subscriber.on('ready', () => void subscribeOrRetry());
  subscriber.on('message', (from, deviceId: string) => {
    if (from !== channel) return;
    credentials.invalidate(deviceId);
    const session = registry.find(deviceId);
    // While the database cannot answer, the session is closed: the device reconnects.
    if (session) void recheck(session).catch(() => disconnect(session));
  });
  if (subscriber.status === 'ready') void subscribeOrRetry();
  return () => {
    clearTimeout(retry);
    subscriber.removeAllListeners('ready');
  };
}
