import { connect, type Socket } from 'node:net';
import { generate } from 'mqtt-packet';

/** Encodes the CONNECT of a device. */
export function connectPacket(deviceId: string, secret: string): Buffer {
  const session = { clean: true, keepalive: 60, clientId: deviceId };
  const credentials = { username: deviceId, password: Buffer.from(secret) };
  return generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, ...session, ...credentials });
}

function uploadPacket(deviceId: string, payload: string): Buffer {
  const topic = `v1/devices/${deviceId}/telemetry`;
  return generate({ cmd: 'publish', topic, messageId: 1, payload, qos: 1, dup: false, retain: false });
}

/**
 * Connects over a plain socket and uploads once at QoS 1; cheap enough for thousands in one process.
 * @returns the socket, after the PUBACK
 * @throws Error when the connection is rejected or ends before the PUBACK
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
