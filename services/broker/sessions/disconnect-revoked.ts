import { deviceRevokedChannel } from '@odograph/contracts/presence';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import type { CredentialStore } from '../connect/credentials.ts';
import { validUntil } from '../connect/stored-credentials.ts';
import type { DeviceSession } from './session.ts';
import type { SessionRegistry } from './session-registry.ts';

export interface DisconnectOptions {
  /** A connection for this alone: one that subscribes can do nothing else. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly presence: SessionRegistry;
  readonly credentials: CredentialStore;
  readonly logger: Logger;
}

/**
 * Closes the open session of a device that was deleted, or by whose secret or certificate nobody is let in any more. What
 * was said while Redis was away is not heard, so all are looked at again when it is back, those that are just coming too.
 */
export function disconnectRevokedDevices(options: DisconnectOptions): void {
  const { subscriber, prefix, presence, credentials, logger } = options;

  const disconnect = (session: DeviceSession): void => {
    logger.info({ deviceId: session.deviceId }, 'a session was closed: what it was let in by holds no more');
    session.client.close();
  };
  const recheck = async (session: DeviceSession): Promise<void> => {
    const stored = await credentials.find(session.deviceId);
    if (session.proofs.some((proof) => validUntil(proof, stored, Date.now()) === 0)) disconnect(session);
  };

  let missed = false;
  subscriber.on('close', () => {
    missed = true;
  });
  const listen = async (): Promise<void> => {
    await subscriber.subscribe(deviceRevokedChannel(prefix)).catch(() => undefined);
    if (!missed) return;
    credentials.anyChanged();
    await Promise.allSettled([...presence.sessions].map(recheck));
  };
  if (subscriber.status === 'ready') void listen();
  subscriber.on('ready', () => void listen());
  subscriber.on('message', (_channel, deviceId: string) => {
    credentials.changed(deviceId);
    const session = presence.find(deviceId);
    // When nobody can tell, the session does not stay: the device comes again.
    if (session) void recheck(session).catch(() => disconnect(session));
  });
}
