import { deviceTopic } from '@odograph/contracts/topics';
import { type UploadReject, uploadRejectsChannel } from '@odograph/contracts/upload-rejects';
import type { Redis } from '@odograph/runtime/redis';
import type { ThrottledLog } from '../failures.ts';
import type { DeviceBroker } from './device-broker.ts';
import type { SessionRegistry } from './session-registry.ts';

export interface RejectOptions {
  /** A dedicated connection: Redis permits no other commands on one that subscribes. */
  readonly subscriber: Redis;
  readonly prefix: string;
  readonly registry: SessionRegistry;
  readonly aedes: DeviceBroker;
  readonly log: ThrottledLog;
}

/**
 * Publishes announced rejects of uploads to the devices that are connected here and subscribe to them: QoS 0, never
 * retained. Announcements made while this broker was not subscribed are lost ("Rejected uploads" in docs/device-protocol.md).
 */
export function forwardRejects({ subscriber, prefix, registry, aedes, log }: RejectOptions): void {
  const channel = uploadRejectsChannel(prefix);
  const subscribe = (): void => {
    subscriber.subscribe(channel).catch((err: unknown) => log('rejects of uploads unavailable', { err }));
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
