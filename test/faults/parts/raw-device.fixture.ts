import { connect, type Socket } from 'node:net';

/** A string as MQTT 3.1.1 writes it [MQTT-1.5.3]. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
}

function packet(head: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length: number[] = [];
  let left = body.length;
  do {
    length.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    left >>= 7;
  } while (left > 0);
  return Buffer.concat([Buffer.from([head, ...length]), body]);
}

const cleanSessionWithPassword = 0xc2;

function connectPacket(deviceId: string, secret: string): Buffer {
  const variable = Buffer.from([4, cleanSessionWithPassword, 0, 60]);
  return packet(0x10, text('MQTT'), variable, text(deviceId), text(deviceId), text(secret));
}

function uploadPacket(deviceId: string, payload: string): Buffer {
  return packet(0x32, text(`v1/devices/${deviceId}/telemetry`), Buffer.from([0, 1]), Buffer.from(payload));
}

/**
 * Connects over a bare socket and uploads once at QoS 1; cheap enough for thousands in one process.
 * @returns the socket, after the PUBACK
 * @throws when the connection is refused or ends before it
 */
export function connectAndUpload(port: number, deviceId: string, secret: string, payload: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    socket.on('connect', () => socket.write(connectPacket(deviceId, secret)));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      // CONNACK and PUBACK are four bytes each.
      if (received.length === 4 && received[0] === 0x20 && received[3] === 0) {
        socket.write(uploadPacket(deviceId, payload));
      } else if (received.length === 8 && received[4] === 0x40) {
        resolve(socket);
      } else if (received.length === 4 || received.length >= 8) {
        socket.destroy(new Error(`answered ${received.toString('hex')}`));
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
  });
}
