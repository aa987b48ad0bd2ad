import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connectPacket } from './mqtt-packets.ts';

/** A packet that came in: type and flags of its fixed header, and what follows that. */
export type OnPacket = (type: number, body: Buffer, flags: number) => void;

/** Cuts a byte stream into MQTT packets; a packet that is not whole waits for the rest. */
function packetReader(onPacket: OnPacket): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let position = 0;
    for (;;) {
      let length = 0;
      let at = position + 1;
      let factor = 1;
      let byte = 0x80;
      for (; byte >= 0x80 && at < bytes.length; at += 1) {
        byte = bytes[at] ?? 0;
        length += (byte & 0x7f) * factor;
        factor *= 128;
      }
      if (byte >= 0x80 || at + length > bytes.length) break;
      const first = bytes[position] ?? 0;
      onPacket(first >> 4, bytes.subarray(at, at + length), first & 0x0f);
      position = at + length;
    }
    rest = bytes.subarray(position);
  };
}

const connackType = 2;

export interface MqttEndpoint {
  port: number;
  clientId: string;
  password: string;
  /** The address to come from; the system's choice when undefined. */
  localAddress?: string | undefined;
}

/**
 * Opens a session and resolves with its socket at CONNACK; `onPacket` gets every packet after it.
 * @throws when the broker refuses, or closes the connection
 */
export async function openMqtt(
  { port, clientId, password, localAddress }: MqttEndpoint,
  onPacket: OnPacket,
): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress ? { localAddress } : {}) });
  await once(socket, 'connect');
  socket.write(connectPacket(clientId, password));
  await new Promise<void>((resolve, reject) => {
    const closed = (): void => reject(new Error(`the broker closed the connection of ${clientId}`));
    socket.once('close', closed);
    const read = packetReader((type, body, flags) => {
      if (type !== connackType) return onPacket(type, body, flags);
      socket.off('close', closed);
      if (body[1] === 0) resolve();
      else reject(new Error(`the broker refused ${clientId} with ${body[1]}`));
    });
    socket.on('data', read);
  });
  socket.on('error', () => undefined);
  return socket;
}
