// A child process that keeps Teltonika devices connected and uploads their packets, each after the answer to the one before.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { crc16 } from '@odograph/codec/teltonika/crc16';
import { encodeAvlRecords } from '@odograph/codec/teltonika/encode';
import { wrapPacket } from '@odograph/codec/teltonika/packets';
import { readSettings, serveParent } from './child-script.ts';

export interface TeltonikaLoadSettings {
  port: number;
  imeis: { prefix: string; first: number; count: number };
  /** Connections on their way at once. */
  pending: number;
  recordsPerPacket: number;
}

/** The devices that upload are the first ones. */
export interface TeltonikaUpload {
  kind: 'upload';
  devices: number;
  packets: number;
  /** UNIX ms of the first record of each device. */
  firstMs: number;
  /** Between two records of a device. */
  intervalMs: number;
}

const { port, imeis, pending, recordsPerPacket } = readSettings<TeltonikaLoadSettings>();
const sockets: Socket[] = [];
const addresses = 16;

/** Clients bind to many loopback addresses; a single one exhausts ephemeral ports. */
const addressOf = (index: number) => (process.platform === 'linux' ? `127.0.0.${1 + (index % addresses)}` : undefined);

async function connectAll(): Promise<{ seconds: number }> {
  let next = 0;
  const start = performance.now();
  const connectNext = async (): Promise<void> => {
    while (next < imeis.count) {
      const index = next;
      next += 1;
      const localAddress = addressOf(index);
      const socket = connect({ port, host: '127.0.0.1', ...(localAddress && { localAddress }) });
      await once(socket, 'connect');
      socket.setNoDelay(true);
      socket.write(Buffer.concat([Buffer.from([0, 15]), Buffer.from(`${imeis.prefix}${imeis.first + index}`)]));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      if (answer[0] !== 1) throw new Error(`IMEI ${imeis.first + index} was refused`);
      sockets[index] = socket;
    }
  };
  await Promise.all(Array.from({ length: pending }, connectNext));
  return { seconds: (performance.now() - start) / 1000 };
}

/** A record as an FMB device with a CAN adapter sends it every second. */
const reading = {
  timestamp: 0,
  location: { latitude: 48.8566, longitude: 2.3522, altitude: 35, angle: 90, satellites: 11, speed: 50 },
  status: { ignition: true, movement: true, mileage: 12_345 },
  can: [
    ...[
      { key: 'engine_rpm', value: '2071' },
      { key: 'external_voltage', value: '13.8' },
    ],
    ...[
      { key: 'gsm_signal', value: '4' },
      { key: 'battery_voltage', value: '4.1' },
    ],
  ],
};
const packetStart = 8;
const recordsStart = packetStart + 2;

/** Writes the times of the records and the checksum into a packet. */
function setTimes(packet: Buffer, firstMs: number, intervalMs: number): void {
  const recordBytes = (packet.length - recordsStart - 5) / recordsPerPacket;
  for (let index = 0; index < recordsPerPacket; index += 1) {
    packet.writeBigUInt64BE(BigInt(firstMs + index * intervalMs), recordsStart + index * recordBytes);
  }
  packet.writeUInt32BE(crc16(packet.subarray(packetStart, -4)), packet.length - 4);
}

async function uploadAll({
  devices,
  packets,
  firstMs,
  intervalMs,
}: TeltonikaUpload): Promise<{ seconds: number; bytes: number }> {
  const data = encodeAvlRecords(
    'codec8Extended',
    Array.from({ length: recordsPerPacket }, () => reading),
  );
  const start = performance.now();
  const uploadOne = async (socket: Socket): Promise<void> => {
    const packet = wrapPacket(data);
    for (let sent = 0; sent < packets; sent += 1) {
      setTimes(packet, firstMs + sent * recordsPerPacket * intervalMs, intervalMs);
      socket.write(packet);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      if (answer.readUInt32BE() !== recordsPerPacket) throw new Error('not every record was acknowledged');
    }
  };
  await Promise.all(sockets.slice(0, devices).map(uploadOne));
  return { seconds: (performance.now() - start) / 1000, bytes: wrapPacket(data).length };
}

serveParent({ connect: connectAll, upload: uploadAll });
