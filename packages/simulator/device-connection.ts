import type { AcknowledgementMessage, CommandMessage } from '@odograph/contracts/commands';
import { deviceTopic } from '@odograph/contracts/topics';
import { acceptKeyList, type DeviceIdentity, type KeyList, parseKeyList } from '@odograph/keyless/key-list';
import { nodeCrypto } from '@odograph/keyless/node-crypto';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';

export interface DeviceCredentials {
  deviceId: string;
  secret: string;
}

/** The answer of a simulated device to a command; undefined for none. */
export type CommandAnswer = Omit<AcknowledgementMessage, 'id'> | undefined;

/** Non-volatile memory of a device for keyless access; outlives its connections. */
export interface KeyMemory {
  readonly identity: DeviceIdentity;
  list: KeyList | undefined;
}

/** The MQTT session of a device. */
export interface DeviceConnection {
  readonly client: MqttClient;
  /** Publishes at QoS 1 and resolves with the PUBACK. Sends a string or Buffer unchanged, anything else as JSON. */
  upload(payload: unknown): Promise<void>;
  /** Subscribes to the device's commands and answers each; resolves with the SUBACK. */
  obey(answer: (command: CommandMessage) => CommandAnswer | Promise<CommandAnswer>): Promise<void>;
  /** Subscribes to the device's key lists, and verifies and acknowledges each; resolves with the SUBACK. */
  confirmKeyLists(memory: KeyMemory): Promise<void>;
  acknowledge(acknowledgement: AcknowledgementMessage): Promise<void>;
  /** Ends the session with DISCONNECT, or breaks the connection without one. */
  close(how?: 'disconnect' | 'cut'): Promise<void>;
}

/**
 * Connects a device and resolves with its CONNACK.
 * @param options override the defaults: MQTT 3.1.1, clean session, no reconnection
 * @throws when the broker refuses the connection
 */
export async function connectDevice(
  url: string,
  { deviceId, secret }: DeviceCredentials,
  options: IClientOptions = {},
): Promise<DeviceConnection> {
  const client = connect(url, {
    clientId: deviceId,
    username: deviceId,
    password: secret,
    protocolVersion: 4,
    reconnectPeriod: 0,
    connectTimeout: 10_000,
    ...options,
  });
  // 'close' reports a broken connection; an 'error' without a listener would end the process.
  client.on('error', () => undefined);
  await connected(client);
  const acknowledge = async (acknowledgement: AcknowledgementMessage): Promise<void> => {
    await client.publishAsync(deviceTopic(deviceId, 'acks'), JSON.stringify(acknowledgement), { qos: 1 });
  };
  return {
    client,
    acknowledge,
    async upload(payload) {
      const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload);
      await client.publishAsync(deviceTopic(deviceId, 'telemetry'), bytes, { qos: 1 });
    },
    async obey(answer) {
      const topic = deviceTopic(deviceId, 'commands');
      const execute = async (command: CommandMessage): Promise<void> => {
        const reply = await answer(command);
        if (reply !== undefined && client.connected) await acknowledge({ id: command.id, ...reply });
      };
      client.on('message', (received, payload) => {
        if (received !== topic) return;
        execute(JSON.parse(payload.toString()) as CommandMessage).catch(() => undefined);
      });
      await client.subscribeAsync(topic, { qos: 1 });
    },
    async confirmKeyLists(memory) {
      const topic = deviceTopic(deviceId, 'keys');
      client.on('message', (received, payload) => {
        const message = received === topic ? parseKeyList(payload.toString()) : undefined;
        if (!message) return;
        const { list, acknowledgement } = acceptKeyList(nodeCrypto, memory.identity, memory.list, message);
        memory.list = list;
        acknowledge(acknowledgement).catch(() => undefined);
      });
      await client.subscribeAsync(topic, { qos: 1 });
    },
    async close(how = 'disconnect') {
      if (how === 'cut') client.stream.destroy();
      await client.endAsync(how === 'cut');
    },
  };
}

function connected(client: MqttClient): Promise<void> {
  if (client.connected) return Promise.resolve();
  return new Promise((resolve, reject) => {
    client.once('connect', () => resolve());
    client.once('close', () => {
      client.end(true);
      reject(new Error('the broker closed the connection'));
    });
  });
}
