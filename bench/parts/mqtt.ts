import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';

export interface MqttEndpoint {
  port: number;
  clientId: string;
  password: string;
  /** Source address of the connection; chosen by the system when undefined. */
  localAddress?: string | undefined;
}

/** Encodes a PUBLISH at QoS 1. */
export function publishPacket(topic: string, messageId: number, payload: Buffer): Buffer {
  return generate({ cmd: 'publish', topic, messageId, payload, qos: 1, dup: false, retain: false });
}

/** Encodes a SUBSCRIBE of one filter at QoS 1. */
export function subscribePacket(messageId: number, topic: string): Buffer {
  return generate({ cmd: 'subscribe', messageId, subscriptions: [{ topic, qos: 1 }] });
}

export function pubackPacket(messageId: number): Buffer {
  return generate({ cmd: 'puback', messageId });
}

/** Encodes a CONNECT with a clean session and without keep-alive. */
function connectPacket(clientId: string, password: string): Buffer {
  return generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    keepalive: 0,
    clientId,
    username: clientId,
    password: Buffer.from(password),
  });
}

/**
 * Opens a session and resolves with its socket at CONNACK; `onPacket` gets every packet after it.
 * @throws Error when the broker refuses, or closes the connection
 */
export async function openMqtt(
  { port, clientId, password, localAddress }: MqttEndpoint,
  onPacket: (packet: Packet) => void,
): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress ? { localAddress } : {}) });
  await once(socket, 'connect');
  socket.write(connectPacket(clientId, password));
  await new Promise<void>((resolve, reject) => {
    const closed = (): void => reject(new Error(`the broker closed the connection of ${clientId}`));
    socket.once('close', closed);
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet: Packet) => {
      if (packet.cmd !== 'connack') return onPacket(packet);
      socket.off('close', closed);
      if (packet.returnCode === 0) resolve();
      else reject(new Error(`the broker refused ${clientId} with ${packet.returnCode}`));
    });
    packets.on('error', (error: Error) => socket.destroy(error));
    socket.on('data', (chunk) => packets.parse(chunk));
  });
  socket.on('error', () => undefined);
  return socket;
}
