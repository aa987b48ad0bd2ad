import { downChannels, parseDeviceTopic } from '@odograph/contracts/topics';
import type { AedesOptions, AedesPublishPacket, PublishPacket } from 'aedes';
import type { DeviceSession, Sessions } from '../sessions/session.ts';

type AuthorizeForward = NonNullable<AedesOptions['authorizeForward']>;
type AuthorizeSubscribe = NonNullable<AedesOptions['authorizeSubscribe']>;

/** What a PUBLISH of a device is, once it was found to have the right to it. */
export type Purpose = 'telemetry' | 'acknowledgement';

/**
 * What a device may publish: its own telemetry and acknowledgements; "What a device says and hears" in
 * docs/device-protocol.md. Anything else has no purpose, and MQTT 3.1.1 knows no refusal but closing the connection.
 */
export function purposeOfDevice(session: DeviceSession, packet: PublishPacket): Purpose | undefined {
  // Only the platform leaves a message for later.
  packet.retain = false;
  if (packet.topic === session.telemetryTopic) return 'telemetry';
  return packet.topic === session.acksTopic ? 'acknowledgement' : undefined;
}

/** Whether the command service may publish this packet: commands and key lists of any device, nothing else. */
export function mayCommandServicePublish(packet: PublishPacket): boolean {
  const channel = parseDeviceTopic(packet.topic)?.channel;
  return channel !== undefined && downChannels.has(channel);
}

/**
 * Lets a device subscribe to its own commands and keys, by their exact topics. Any other SUBSCRIBE is answered with 0x80
 * and the connection stays [MQTT-3.9.3].
 */
export function createAuthorizeSubscribe(sessions: Sessions, onRefused: (topic: string) => void): AuthorizeSubscribe {
  return (client, subscription, callback) => {
    const session = sessions.get(client);
    if (session?.kind === 'device' && receives(session, subscription.topic)) return callback(null, subscription);
    onRefused(subscription.topic);
    callback(null, null);
  };
}

/**
 * Forwards to a device only its own topics, whatever its session once subscribed to, and never a command that has expired
 * ("executed never after it" in docs/device-protocol.md).
 */
export function createAuthorizeForward(sessions: Sessions): AuthorizeForward {
  return (client, packet) => {
    const session = sessions.get(client);
    if (session?.kind !== 'device' || !receives(session, packet.topic)) return null;
    if (packet.topic === session.commandsTopic && hasExpired(packet)) return null;
    return packet;
  };
}

function receives(session: DeviceSession, topic: string): boolean {
  return topic === session.commandsTopic || topic === session.keysTopic;
}

/** A command without a readable end counts as expired. */
function hasExpired({ payload }: AedesPublishPacket): boolean {
  try {
    const { expiresAt } = JSON.parse(payload.toString()) as { expiresAt?: unknown };
    return typeof expiresAt !== 'number' || Date.now() >= expiresAt * 1000;
  } catch {
    return true;
  }
}
