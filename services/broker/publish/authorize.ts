import type { Socket } from 'node:net';
import { allAcknowledgements, downChannels, parseDeviceTopic, recordedChannel } from '@odograph/contracts/topics';
import type { AedesOptions, AedesPublishPacket, Client, PublishPacket } from 'aedes';
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

/** What the command service says: to a device, or to the broker of what a device said. */
export interface ServicePurpose {
  readonly purpose: 'down' | 'recorded';
  readonly deviceId: string;
}

/** What the command service may publish: commands and keys of any device, and which acknowledgements it has recorded. */
export function purposeOfCommandService(packet: PublishPacket): ServicePurpose | undefined {
  const parsed = parseDeviceTopic(packet.topic);
  if (parsed === undefined) return undefined;
  const { deviceId, channel } = parsed;
  if (channel === recordedChannel) return { purpose: 'recorded', deviceId };
  return downChannels.has(channel) ? { purpose: 'down', deviceId } : undefined;
}

/** What waits in the socket of the command service at most, in bytes; the queue has what it is not told. */
const maximumUntold = 1024 ** 2;

/**
 * A device subscribes to its own commands and keys, by their exact topics, the command service to acknowledgements. Any
 * other SUBSCRIBE is answered with 0x80 and the connection stays [MQTT-3.9.3]: a wildcard costs a device nothing but what
 * it was not meant to hear.
 */
export function createAuthorizeSubscribe(sessions: Sessions, onRefused: (topic: string) => void): AuthorizeSubscribe {
  return (client, subscription, callback) => {
    const session = sessions.get(client);
    const mayHear =
      session?.kind === 'device' ? isHeardBy(session, subscription.topic) : subscription.topic === allAcknowledgements;
    if (session !== undefined && mayHear) return callback(null, subscription);
    onRefused(subscription.topic);
    callback(null, null);
  };
}

/**
 * The last gate before a device: it hears only its own topics, whatever its session once subscribed to, and never a
 * command that has expired ("executed never after it" in docs/device-protocol.md). The command service hears
 * acknowledgements, which only the broker itself hands on.
 */
export function createAuthorizeForward(sessions: Sessions): AuthorizeForward {
  return (client, packet) => {
    const session = sessions.get(client);
    if (session?.kind === 'command') return keepsUp(client) ? packet : null;
    if (session?.kind !== 'device' || !isHeardBy(session, packet.topic)) return null;
    if (packet.topic === session.commandsTopic && hasExpired(packet)) return null;
    return packet;
  };
}

function isHeardBy(session: DeviceSession, topic: string): boolean {
  return topic === session.commandsTopic || topic === session.keysTopic;
}

function keepsUp({ conn }: Client): boolean {
  return (conn as Socket).writableLength < maximumUntold;
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
