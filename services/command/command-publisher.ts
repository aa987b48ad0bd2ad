import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { commandAccount } from '@odograph/contracts/caller';
import type { CommandMessage } from '@odograph/contracts/commands';
import { deviceTopic } from '@odograph/contracts/topics';
import type { KeyListMessage } from '@odograph/keyless/key-list';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import type { Logger } from '@odograph/runtime/logger';
import { deriveSecret } from '@odograph/runtime/secrets';
import { connect } from 'mqtt';

/**
 * The platform's own session at the MQTT broker, the only one that may publish commands and key lists.
 */
export interface CommandPublisher {
  /** Connects, and from then on reconnects for ever; resolves with the first connection, or after `milliseconds`. */
  open(milliseconds: number): Promise<void>;
  isConnected(): boolean;
  /** Hands a command to the device's live session; nothing is kept for a later one. */
  publish(deviceId: string, message: CommandMessage): Promise<void>;
  /** Leaves a key list at the broker, for the live session and for the next one. */
  publishKeyList(deviceId: string, message: KeyListMessage): Promise<void>;
  /** Calls `listener` after each connection, the first too. */
  onConnect(listener: () => void): void;
  close(): Promise<void>;
}

/** @param adminToken setting from whose newest token the account's password is derived */
export function createCommandPublisher(url: string, adminToken: string, logger: Logger): CommandPublisher {
  const client = connect(url, {
    manualConnect: true,
    clientId: `${commandAccount}-${randomUUID()}`,
    username: commandAccount,
    password: deriveSecret(adminTokensOf(adminToken)[0], commandAccount),
    protocolVersion: 4,
    keepalive: 15,
    connectTimeout: 5000,
    reconnectPeriod: 500,
    reconnectOnConnackError: true,
    resubscribe: false,
    // A command that cannot go out now must not go out later.
    queueQoSZero: false,
  });
  client.on('error', (error) => logger.warn({ reason: error.message }, 'no connection to the MQTT broker'));
  client.on('connect', () => {
    // A command is small, and must not wait until the broker's TCP has confirmed the one before it.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true);
    logger.info('connected to the MQTT broker');
  });
  return {
    open(milliseconds) {
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        client.once('connect', () => {
          clearTimeout(timer);
          resolve();
        });
        client.connect();
      });
    },
    isConnected: () => client.connected,
    async publish(deviceId, message) {
      if (!client.connected) throw new Error('not connected to the MQTT broker');
      await client.publishAsync(deviceTopic(deviceId, 'commands'), JSON.stringify(message), { qos: 0 });
    },
    async publishKeyList(deviceId, message) {
      await client.publishAsync(deviceTopic(deviceId, 'keys'), JSON.stringify(message), { qos: 1, retain: true });
    },
    onConnect: (listener) => void client.on('connect', listener),
    async close() {
      await client.endAsync(true);
    },
  };
}
