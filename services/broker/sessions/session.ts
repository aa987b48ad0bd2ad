import { deviceTopic } from '@odograph/contracts/topics';
import type { Client } from 'aedes';
import type { Proof } from '../connect/stored-credentials.ts';
import { ReleaseOrder } from '../publish/release-order.ts';

/** The MQTT session of one device, from its authentication to the end of its connection. */
export interface DeviceSession {
  readonly kind: 'device';
  readonly deviceId: string;
  readonly client: Client;
  /** What contracts/presence.ts calls a session: `{brokerId} {connectionId}`. */
  readonly presence: string;
  /** What it was let in by; looked at again when something was revoked. */
  readonly proofs: readonly Proof[];
  /** The hash of the secret it showed when that is the newest and the one before still holds. */
  readonly replaces: Buffer | undefined;
  readonly telemetryTopic: string;
  readonly acksTopic: string;
  readonly commandsTopic: string;
  readonly keysTopic: string;
  readonly releases: ReleaseOrder;
}

/** A session of the command service. */
export interface CommandSession {
  readonly kind: 'command';
}

export type Session = DeviceSession | CommandSession;

/** Whom each connection was authenticated as. */
export type Sessions = WeakMap<Client, Session>;

export function createDeviceSession(
  client: Client,
  identity: Pick<DeviceSession, 'deviceId' | 'proofs' | 'replaces' | 'presence'>,
): DeviceSession {
  const { deviceId } = identity;
  return {
    kind: 'device',
    client,
    ...identity,
    telemetryTopic: deviceTopic(deviceId, 'telemetry'),
    acksTopic: deviceTopic(deviceId, 'acks'),
    commandsTopic: deviceTopic(deviceId, 'commands'),
    keysTopic: deviceTopic(deviceId, 'keys'),
    releases: new ReleaseOrder(),
  };
}
