// A child process of many clients: connects devices over MQTT or Teltonika's TCP protocol and keeps them connected,
// uploads packets of Teltonika devices, and forwards messages over HTTP as other systems do.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { encodeMessage } from '@odograph/codec/encode-messages';
import { crc16 } from '@odograph/codec/teltonika/crc16';
import { encodeAvlRecords, encodeHello } from '@odograph/codec/teltonika/encode';
import { wrapPacket } from '@odograph/codec/teltonika/packets';
import { openMqtt } from './mqtt.ts';
import { readSettings, serveParent } from './processes.ts';

export interface StormSettings {
  protocol: 'mqtt' | 'teltonika';
  port: number;
  deviceIds: { prefix: string; first: number; count: number };
  secret: string;
  /** Maximum number of concurrent connection attempts. */
  pending: number;
  isTls?: boolean;
}

/** Times of records: the first one of each device, UNIX ms, and the interval between two of a device. */
export interface RecordTimes {
  firstMs: number;
  intervalMs: number;
}

/** The devices that upload are the first ones. */
export interface TeltonikaUpload extends RecordTimes {
  kind: 'upload';
  devices: number;
  packets: number;
  recordsPerPacket: number;
}

export interface SourceUpload extends RecordTimes {
  kind: 'forward';
  httpUrl: string;
  /** Keep-alive connections; each forwards for its own devices and sends a request after the previous answer. */
  connections: number;
  format: 'flespi' | 'traccar';
  messagesPerRequest: number;
  /** Secret of the source of each connection. */
  secrets: readonly string[];
  deviceIds: readonly string[];
  /** A multiple of `connections` and of `messagesPerRequest`. */
  records: number;
}

const settings = readSettings<StormSettings>();
const sockets: Socket[] = [];
const addresses = 16;

/**
 * Clients bind to many loopback addresses; a single one exhausts ephemeral ports. Only Linux has all of 127.0.0.0/8 by
 * default.
 */
function addressOf(index: number): string | undefined {
  return process.platform === 'linux' ? `127.0.0.${1 + (index % addresses)}` : undefined;
}

async function openTeltonika(imei: string, localAddress: string | undefined): Promise<Socket> {
  const { port } = settings;
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress && { localAddress }) });
  await once(socket, 'connect');
  socket.write(encodeHello(imei));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  if (answer[0] !== 1) throw new Error(`IMEI ${imei} was refused`);
  return socket;
}

/** Measures the time of some work. */
async function timed(work: () => Promise<unknown>): Promise<{ seconds: number }> {
  const start = performance.now();
  await work();
  return { seconds: (performance.now() - start) / 1000 };
}

async function connectAll(): Promise<void> {
  const { protocol, port, deviceIds, secret, pending, isTls } = settings;
  let next = 0;
  const connectNext = async (): Promise<void> => {
    while (next < deviceIds.count) {
      const index = next;
      next += 1;
      const clientId = `${deviceIds.prefix}${deviceIds.first + index}`;
      const localAddress = addressOf(index);
      sockets[index] =
        protocol === 'mqtt'
          ? await openMqtt({ port, clientId, password: secret, localAddress, isTls }, () => undefined)
          : await openTeltonika(clientId, localAddress);
    }
  };
  await Promise.all(Array.from({ length: pending }, connectNext));
}

/** A record as a device with a CAN adapter sends it every second: a position and seven values. */
const readingAt = (timestamp: number) => ({
  timestamp,
  location: { latitude: 48.8566, longitude: 2.3522, altitude: 35, angle: 90, satellites: 11, speed: 50 },
  status: { ignition: true, movement: true, mileage: 12_345 },
  can: Object.entries({ engine_rpm: '2071', external_voltage: '13.8', gsm_signal: '4', battery_voltage: '4.1' }).map(
    ([key, value]) => ({ key, value }),
  ),
});

const packetStart = 8;
const recordsStart = packetStart + 2;

/** Writes the times of the records and the checksum into a packet. */
function setTimes(packet: Buffer, records: number, { firstMs, intervalMs }: RecordTimes): void {
  const recordBytes = (packet.length - recordsStart - 5) / records;
  for (let index = 0; index < records; index += 1) {
    packet.writeBigUInt64BE(BigInt(firstMs + index * intervalMs), recordsStart + index * recordBytes);
  }
  packet.writeUInt32BE(crc16(packet.subarray(packetStart, -4)), packet.length - 4);
}

async function uploadAll({ devices, packets, recordsPerPacket, firstMs, intervalMs }: TeltonikaUpload): Promise<void> {
  const records = Array.from({ length: recordsPerPacket }, () => readingAt(0));
  const data = encodeAvlRecords('codec8Extended', records);
  const uploadOne = async (socket: Socket): Promise<void> => {
    const packet = wrapPacket(data);
    for (let sent = 0; sent < packets; sent += 1) {
      setTimes(packet, recordsPerPacket, { firstMs: firstMs + sent * recordsPerPacket * intervalMs, intervalMs });
      socket.write(packet);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      if (answer.readUInt32BE() !== recordsPerPacket) throw new Error('not every record was acknowledged');
    }
  };
  await Promise.all(sockets.slice(0, devices).map(uploadOne));
}

/** Encodes the messages of a device, which differ in the time only: encoding each anew costs as much as the gateway. */
function messagesOf(format: SourceUpload['format'], deviceId: string): (timeMs: number) => string {
  const timeOf = (ms: number): string => (format === 'traccar' ? new Date(ms).toISOString() : String(ms / 1000));
  const templateMs = 1e12;
  const message = JSON.stringify(encodeMessage(format, deviceId, readingAt(templateMs / 1000)));
  const parts = message.split(timeOf(templateMs));
  return (timeMs) => parts.join(timeOf(timeMs));
}

/** Opens a connection for sequential requests. It reads only the status of each response, to keep the client cheap. */
async function openPoster(url: URL, head: string) {
  const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
  await once(socket, 'connect');
  let answered: (answer: Buffer) => void = () => undefined;
  socket.on('data', (answer: Buffer) => answered(answer));
  return {
    close: () => socket.destroy(),
    /** @throws for any status but 200 */
    async post(body: string): Promise<void> {
      // Every body is ASCII.
      socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`, 'latin1');
      const answer = await new Promise<Buffer>((resolve) => {
        answered = resolve;
      });
      if (answer.toString('latin1', 9, 12) !== '200') throw new Error(answer.toString());
    },
  };
}

async function forwardAll({
  httpUrl,
  connections,
  format,
  secrets,
  deviceIds,
  ...upload
}: SourceUpload): Promise<void> {
  const { records, messagesPerRequest, firstMs, intervalMs } = upload;
  const url = new URL(httpUrl);
  const forward = async (connection: number): Promise<void> => {
    const head = `POST /in/${format} HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${secrets[connection]}\r\n`;
    const { post, close } = await openPoster(url, head);
    const own = deviceIds.filter((_id, index) => index % connections === connection);
    const messages = own.map((deviceId) => messagesOf(format, deviceId));
    for (let sent = 0; sent < records / connections; sent += messagesPerRequest) {
      const texts = Array.from({ length: messagesPerRequest }, (_message, index) => {
        const record = sent + index;
        return messages[record % own.length]?.(firstMs + Math.floor(record / own.length) * intervalMs);
      });
      await post(messagesPerRequest === 1 ? `${texts[0]}` : `[${texts.join(',')}]`);
    }
    close();
  };
  await Promise.all(Array.from({ length: connections }, (_unused, connection) => forward(connection)));
}

serveParent({
  connect: () => timed(connectAll),
  upload: (upload: TeltonikaUpload) => timed(() => uploadAll(upload)),
  forward: (upload: SourceUpload) => timed(() => forwardAll(upload)),
});
