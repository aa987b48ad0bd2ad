import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { deviceTopic } from '@odograph/contracts/topics';
import { generate, type Packet, parser } from 'mqtt-packet';

export interface MqttEndpoint {
  port: number;
  clientId: string;
  password: string;
  /** Source address of the connection; chosen by the system when undefined. */
  localAddress?: string | undefined;
  /** Connects over TLS without verifying the certificate. */
  isTls?: boolean | undefined;
}

/** Encodes a PUBLISH at QoS 1. */
export function publishPacket(topic: string, messageId: number, payload: Buffer): Buffer {
  return generate({ cmd: 'publish', topic, messageId, payload, qos: 1, dup: false, retain: false });
}

/**
 * Opens a clean session without keep-alive and resolves with its socket at CONNACK; `onPacket` gets every packet after it.
 * @throws Error when the broker refuses, or closes the connection
 */
export async function openMqtt(
  { port, clientId, password, localAddress, isTls }: MqttEndpoint,
  onPacket: (packet: Packet) => void,
): Promise<Socket> {
  const plain = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress ? { localAddress } : {}) });
  await once(plain, 'connect');
  const socket = isTls ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain;
  const credentials = { clientId, username: clientId, password: Buffer.from(password) };
  socket.write(
    generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0, ...credentials }),
  );
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

/** Offset of the timestamp in a payload: ten digits of seconds, then milliseconds. */
export const timestampOffset = '{"timestamp":'.length;

/** Builds a typical reading of about 250 bytes: location, status and electric; the timestamp is a placeholder. */
export function payloadTemplate(variant: number): Buffer {
  const wave = Math.sin(variant);
  return Buffer.from(
    `{"timestamp":0000000000.000,"location":{"latitude":${(48.8566 + wave / 20).toFixed(6)},"longitude":${(2.3522 + wave / 15).toFixed(6)},` +
      `"angle":${100 + (variant % 200)},"altitude":${30 + (variant % 40)},"speed":${20 + (variant % 60)},"satellites":${5 + (variant % 5)}},` +
      `"status":{"ignition":true,"movement":true,"mileage":${(12_345 + variant / 10).toFixed(1)},"autonomy":${200 + (variant % 99)}},` +
      `"electric":{"soc":${20 + (variant % 70)},"current":${(-12.3 - (variant % 9)).toFixed(1)},"voltage":${(390 + wave).toFixed(1)}}}`,
  );
}

/** A device that uploads a reading at an interval, for measuring where it arrives. */
export interface Probe {
  stop(): void;
  close(): void;
}

/**
 * Uploads readings at an interval, one after the other.
 * @param timeOf returns the device time of an upload, UNIX ms @param onPuback called with the same time
 */
export async function startProbe(
  device: MqttEndpoint,
  intervalMs: number,
  { timeOf, onPuback }: { timeOf: (sent: number) => number; onPuback?: (timeMs: number) => void },
): Promise<Probe> {
  const topic = deviceTopic(device.clientId, 'telemetry');
  const template = payloadTemplate(0);
  const inFlight: number[] = [];
  const socket = await openMqtt(device, (packet) => {
    const timeMs = packet.cmd === 'puback' ? inFlight.shift() : undefined;
    if (timeMs !== undefined) onPuback?.(timeMs);
  });
  let sent = 0;
  const timer = setInterval(() => {
    const timeMs = timeOf(sent);
    template.write((timeMs / 1000).toFixed(3), timestampOffset);
    inFlight.push(timeMs);
    sent += 1;
    socket.write(publishPacket(topic, (sent % 60_000) + 1, template));
  }, intervalMs);
  return { stop: () => clearInterval(timer), close: () => socket.destroy() };
}
