import { randomUUID } from 'node:crypto';
import { gatewayAccount } from '@odograph/contracts/caller';
import { CommandMessage } from '@odograph/contracts/commands';
import { everyCommandTopic, parseDeviceTopic } from '@odograph/contracts/topics';
import { adminTokensOf } from '@odograph/runtime/admin-token';
import type { FailureReports } from '@odograph/runtime/background-failures';
import { deriveSecret } from '@odograph/runtime/secrets';
import { connect } from 'mqtt';
import { Compile } from 'typebox/compile';

const messageCheck = Compile(CommandMessage);

export interface CommandFeedOptions {
  /** Of the MQTT broker. */
  readonly url: string;
  /** Setting from whose newest token the account's password is derived. */
  readonly adminToken: string;
  readonly failures: FailureReports<'commands'>;
  onCommand(deviceId: string, command: CommandMessage): void;
}

/** The gateway's session at the MQTT broker, in which it receives the commands of every device. */
export interface CommandFeed {
  /** Connects, and from then on reconnects for ever. */
  open(): void;
  close(): Promise<void>;
}

/** Creates the session. Commands published while it is not connected are lost, as for a device: their outcome is unknown. */
export function createCommandFeed({ url, adminToken, failures, onCommand }: CommandFeedOptions): CommandFeed {
  const client = connect(url, {
    manualConnect: true,
    clientId: `${gatewayAccount}-${randomUUID()}`,
    username: gatewayAccount,
    password: deriveSecret(adminTokensOf(adminToken)[0], gatewayAccount),
    protocolVersion: 4,
    keepalive: 15,
    connectTimeout: 5000,
    reconnectPeriod: 500,
    reconnectOnConnackError: true,
    resubscribe: false,
  });
  let isClosing = false;
  const subscribe = async (): Promise<void> => {
    try {
      await client.subscribeAsync(everyCommandTopic, { qos: 0 });
      failures.succeeded('commands');
    } catch (error) {
      failures.failed('commands', error);
      // The next connection subscribes again.
      if (client.connected) client.stream.destroy();
    }
  };
  client.on('connect', () => void subscribe());
  client.on('error', (error) => failures.failed('commands', error));
  client.on('close', () => {
    if (!isClosing) failures.failed('commands', new Error('no connection to the MQTT broker'));
  });
  client.on('message', (topic, payload) => {
    const deviceId = parseDeviceTopic(topic)?.deviceId;
    const command = parseCommand(payload.toString());
    if (deviceId !== undefined && command) onCommand(deviceId, command);
  });
  let isOpen = false;
  return {
    open() {
      isOpen = true;
      client.connect();
    },
    async close() {
      isClosing = true;
      // A client that never connected has no stream to end.
      if (isOpen) await client.endAsync(true);
    },
  };
}

function parseCommand(text: string): CommandMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return messageCheck.Check(value) ? (value as CommandMessage) : undefined;
  } catch {
    return undefined;
  }
}
