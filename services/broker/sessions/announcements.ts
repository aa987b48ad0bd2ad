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

interface Subscription {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly channel: string;
  /** Called with each subscription. When it fails, the subscription is tried again. */
  onSubscribed(): void | Promise<void>;
  onFailure(error: unknown): void;
  onMessage(text: string): void;
}

/** Subscribes to a channel whenever the connection is ready, and again after a failure. @returns ends it */
function keepSubscribed({ subscriber, channel, onSubscribed, onFailure, onMessage }: Subscription): () => void {
  let retry: NodeJS.Timeout | undefined;
  const subscribe = async (): Promise<void> => {
    clearTimeout(retry);
    try {
      await subscriber.subscribe(channel);
      await onSubscribed();
    } catch (error) {
      onFailure(error);
      // While Redis is unavailable, its 'ready' event triggers the next attempt.
      if (subscriber.status === 'ready') retry = setTimeout(() => void subscribe(), retryMs);
    }
  };
  const onReady = (): void => void subscribe();
  subscriber.on('ready', onReady);
  subscriber.on('message', (from, text: string) => {
    if (from === channel) onMessage(text);
  });
  if (subscriber.status === 'ready') onReady();
  return () => {
    clearTimeout(retry);
    subscriber.off('ready', onReady);
  };
}

export interface RevocationOptions {
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
  let hasMissed = false;

  const disconnect = (session: DeviceSession): void => {
    logger.info({ deviceId: session.deviceId }, 'session closed: credentials revoked');
    session.client.close();
  };
  const recheck = async (session: DeviceSession): Promise<void> => {
    const stored = await credentials.find(session.deviceId);
    const isRevoked = session.credentials.some((credential) => validUntil(credential, stored, Date.now()) === 0);
    if (isRevoked) disconnect(session);
  };
  const recheckAll = async (): Promise<void> => {
    credentials.invalidateAll();
    const results = await Promise.allSettled([...registry.sessions].map(recheck));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  };

  subscriber.on('close', () => {
    hasMissed = true;
  });
  return keepSubscribed({
    subscriber,
    channel: deviceRevokedChannel(prefix),
    async onSubscribed() {
      const mustRecheck = hasMissed;
      hasMissed = false;
      if (mustRecheck) await recheckAll();
      failures.succeeded('revocations');
    },
    onFailure(error) {
      hasMissed = true;
      failures.failed('revocations', error);
    },
    onMessage(deviceId) {
      credentials.invalidate(deviceId);
      const session = registry.find(deviceId);
      // While the database cannot answer, the session is closed: the device reconnects.
      if (session) void recheck(session).catch(() => disconnect(session));
    },
  });
}

export interface RejectOptions {
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry;
  readonly aedes: DeviceBroker;
  readonly logger: Logger;
}

/**
 * Publishes announced rejects of uploads to the devices that are connected here and subscribe to them: QoS 0, never
 * retained. Announcements made while this broker was not subscribed are lost ("Rejected uploads" in docs/device-protocol.md).
 * @returns ends it
 */
export function forwardRejects({ subscriber, prefix, registry, aedes, logger }: RejectOptions): () => void {
  const publish = ({ deviceId, message }: UploadReject): void => {
    if (!registry.find(deviceId)) return;
    const payload = JSON.stringify(message);
    const flags = { qos: 0, retain: false, dup: false } as const;
    aedes.publish({ cmd: 'publish', topic: deviceTopic(deviceId, 'rejects'), payload, ...flags }, null);
  };
  return keepSubscribed({
    subscriber,
    channel: uploadRejectsChannel(prefix),
    onSubscribed: () => undefined,
    onFailure: (err) => logger.warn({ err }, 'rejects of uploads unavailable'),
    onMessage(text) {
      for (const reject of JSON.parse(text) as UploadReject[]) publish(reject);
    },
  });
}
