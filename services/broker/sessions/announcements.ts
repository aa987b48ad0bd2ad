import { deviceTopic, type UploadReject, uploadRejectsChannel } from '@odograph/contracts/topics';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Logger } from '@odograph/runtime/logger';
import type { Redis } from '@odograph/runtime/redis';
import { watchRevocations } from '@odograph/sessions/revocations';
import type { SessionRegistry } from '@odograph/sessions/session-registry';
import { type CredentialStore, validUntil } from '../connect/credentials.ts';
import type { DeviceBroker } from './device-broker.ts';
import type { DeviceSession } from './session-registry.ts';

export interface RevocationOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry<DeviceSession>;
  readonly credentials: CredentialStore;
  readonly failures: FailureReports<'revocations'>;
  readonly logger: Logger;
}

/**
 * Closes the sessions of devices that were deleted or whose secret or certificate was revoked.
 * @returns ends it
 */
export function disconnectRevokedDevices(options: RevocationOptions): () => void {
  const { credentials, logger } = options;
  return watchRevocations({
    ...options,
    invalidate: (deviceId) => credentials.invalidate(deviceId),
    invalidateAll: () => credentials.invalidateAll(),
    async isRevoked(session) {
      const stored = await credentials.find(session.deviceId);
      return session.credentials.some((credential) => validUntil(credential, stored, Date.now()) === 0);
    },
    close({ deviceId, client }) {
      logger.info({ deviceId }, 'session closed: credentials revoked');
      client.close();
    },
  });
}

export interface RejectOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry<DeviceSession>;
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
