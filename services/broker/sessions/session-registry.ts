import { deviceTopic, ownTracksPrefix } from '@odograph/contracts/topics';
import type { RegisteredSession } from '@odograph/sessions/session-registry';
import type { DeviceThrottle } from '@odograph/sessions/throttle';
import type { Client } from 'aedes';
import type { PresentedCredential } from './credentials.ts';
import { ReleaseOrder } from './held-publications.ts';

/** The MQTT session of one device, from its authentication to the end of its connection. */
export interface DeviceSession extends RegisteredSession {
  readonly client: Client;
  /** Its credentials, checked again after a revocation. */
  readonly credentials: readonly PresentedCredential[];
  /** The hash of its secret if this is its first use, which ends the validity of the previous secret. */
  readonly replaces: Buffer | undefined;
  readonly telemetryTopic: string;
  readonly acksTopic: string;
  readonly commandsTopic: string;
  readonly keysTopic: string;
  readonly rejectsTopic: string;
  readonly ownTracksPrefix: string;
  readonly throttle: DeviceThrottle;
  /** The order of its PUBACKs. */
  readonly order: ReleaseOrder;
  /** Version of the last key list sent to it, 0 without one; undefined while it does not subscribe to key lists. */
  keyListVersion: number | undefined;
  /** QoS 1 messages sent to it and not acknowledged. */
  unacknowledgedMessages: number;
}

/** The session of each authenticated connection. */
export type Sessions = WeakMap<Client, DeviceSession>;

export function createDeviceSession(
  client: Client,
  identity: Pick<DeviceSession, 'deviceId' | 'credentials' | 'replaces' | 'throttle'>,
): DeviceSession {
  const { deviceId } = identity;
  const order = new ReleaseOrder();
  return {
    client,
    ...identity,
    telemetryTopic: deviceTopic(deviceId, 'telemetry'),
    acksTopic: deviceTopic(deviceId, 'acks'),
    commandsTopic: deviceTopic(deviceId, 'commands'),
    keysTopic: deviceTopic(deviceId, 'keys'),
    rejectsTopic: deviceTopic(deviceId, 'rejects'),
    ownTracksPrefix: ownTracksPrefix(deviceId),
    order,
    keyListVersion: undefined,
    unacknowledgedMessages: 0,
    close: () => client.close(),
    // Waits two turns: the last PUBACKs are written at the end of the current one, and closing does not wait for them.
    end: () => order.whenEmpty(() => setImmediate(() => setImmediate(() => client.close()))),
    onClose: (listener) => void client.conn.once('close', listener),
  };
}
