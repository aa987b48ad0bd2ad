import { deviceRevokedChannel } from '@odograph/contracts/presence';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import { equalSecrets } from '@odograph/runtime/secrets';
import type { DeviceSecrets } from './device-secrets.ts';
import type { Presence } from './presence.ts';
import type { DeviceSession } from './sessions.ts';

export interface DisconnectOptions {
  /** A connection for this alone: one that subscribes can do nothing else. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly presence: Presence;
  readonly secrets: DeviceSecrets;
  readonly logger: Logger;
}

/**
 * Closes the open session of a device that was deleted or got another secret. What was said while Redis was away is not
 * heard, so the secrets of all live sessions are looked up again when it is back.
 */
export function disconnectRevokedDevices(options: DisconnectOptions): void {
  const { subscriber, prefix, presence, secrets, logger } = options;

  const disconnect = (session: DeviceSession): void => {
    logger.info({ deviceId: session.deviceId }, 'a session was closed: the device was deleted or has another secret');
    session.client.close();
  };
  const recheck = async (session: DeviceSession): Promise<void> => {
    const stored = await secrets.find(session.deviceId);
    if (stored === undefined || !equalSecrets(stored, session.secretSha256)) disconnect(session);
  };

  let missed = false;
  subscriber.on('close', () => {
    missed = true;
  });
  const listen = async (): Promise<void> => {
    await subscriber.subscribe(deviceRevokedChannel(prefix)).catch(() => undefined);
    if (missed) await Promise.allSettled([...presence.sessions].map(recheck));
  };
  if (subscriber.status === 'ready') void listen();
  subscriber.on('ready', () => void listen());
  subscriber.on('message', (_channel, deviceId: string) => {
    secrets.revoke(deviceId);
    const session = presence.find(deviceId);
    if (session) disconnect(session);
  });
}
