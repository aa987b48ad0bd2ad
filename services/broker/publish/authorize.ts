import { parseDeviceTopic } from '@odograph/contracts/topics';
import type { AedesOptions, AedesPublishPacket, PublishPacket } from 'aedes';
import type { DeviceSession, Sessions } from '../sessions/session.ts';

type AuthorizeForward = NonNullable<AedesOptions['authorizeForward']>;
type AuthorizeSubscribe = NonNullable<AedesOptions['authorizeSubscribe']>;

/**
 * Authorizes a PUBLISH of a device: its own telemetry and acknowledgements, nothing else ("What a device says and hears"
 * in docs/device-protocol.md).
 * @returns the channel, or undefined when the device may not publish there
 */
export function authorizeDevicePublish(
  session: DeviceSession,
  packet: PublishPacket,
): 'telemetry' | 'acks' | undefined {
  // Only the platform retains messages.
  packet.retain = false;
  if (packet.topic === session.telemetryTopic) return 'telemetry';
  return packet.topic === session.acksTopic ? 'acks' : undefined;
}

/** Whether the command service may publish this packet: only commands and key lists of any device. */
export function mayCommandServicePublish(packet: PublishPacket): boolean {
  const channel = parseDeviceTopic(packet.topic)?.channel;
  return channel === 'commands' || channel === 'keys';
}

/**
 * Lets a device subscribe to its own commands, keys and rejects, by their exact topics. Any other SUBSCRIBE is answered
 * with 0x80 and the connection stays [MQTT-3.9.3].
 */
export function createAuthorizeSubscribe(sessions: Sessions, onRefused: (topic: string) => void): AuthorizeSubscribe {
  return (client, subscription, callback) => {
    const session = sessions.get(client);
    if (session?.kind === 'device' && isForDevice(session, subscription.topic)) return callback(null, subscription);
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
    if (session?.kind !== 'device' || !isForDevice(session, packet.topic)) return null;
    if (packet.topic === session.commandsTopic && isExpired(packet)) return null;
    return packet;
  };
}

function isForDevice(session: DeviceSession, topic: string): boolean {
  return topic === session.commandsTopic || topic === session.keysTopic || topic === session.rejectsTopic;
}

/** A command without a readable end counts as expired. */
function isExpired({ payload }: AedesPublishPacket): boolean {
  try {
    const { expiresAt } = JSON.parse(payload.toString()) as { expiresAt?: unknown };
    return typeof expiresAt !== 'number' || Date.now() >= expiresAt * 1000;
  } catch {
    return true;
  }
}
