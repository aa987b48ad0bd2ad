import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { deviceTopic } from '@odograph/contracts/topics';
import { type UploadReject, uploadRejectsChannel } from '@odograph/contracts/upload-rejects';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import { type CredentialStore, validUntil } from '../connect/credentials.ts';
import type { BackgroundFailures } from '../metrics.ts';
import type { DeviceBroker } from './device-broker.ts';
import type { DeviceSession, SessionRegistry } from './session-registry.ts';

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

export interface RejectOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry;
  readonly aedes: DeviceBroker;
  readonly logger: Logger;
}

/**
 * Publishes announced rejects of uploads to the devices that are connected here and subscribe to them: QoS 0, never
 * retained. Announcements made while this broker was not subscribed are lost ("Rejected uploads" in docs/device-protocol.md).
 */
export function forwardRejects({ subscriber, prefix, registry, aedes, logger }: RejectOptions): void {
  const channel = uploadRejectsChannel(prefix);
  const subscribe = (): void => {
    subscriber.subscribe(channel).catch((err: unknown) => logger.warn({ err }, 'rejects of uploads unavailable'));
  };
  const publish = ({ deviceId, message }: UploadReject): void => {
    if (!registry.find(deviceId)) return;
    const payload = JSON.stringify(message);
    const flags = { qos: 0, retain: false, dup: false } as const;
    aedes.publish({ cmd: 'publish', topic: deviceTopic(deviceId, 'rejects'), payload, ...flags }, null);
  };
  subscriber.on('ready', subscribe);
  subscriber.on('message', (from, text) => {
    if (from === channel) for (const reject of JSON.parse(text) as UploadReject[]) publish(reject);
  });
  if (subscriber.status === 'ready') subscribe();
}
