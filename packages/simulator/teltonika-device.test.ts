import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { encodeCommand, readMessages } from '@odograph/codec/teltonika/commands';
import { decodeTeltonika } from '@odograph/codec/teltonika/decode.fixture';
import {
  acknowledgeDatagram,
  acknowledgeRecords,
  answerHello,
  type Frame,
  readDatagram,
  readHello,
  readPacket,
} from '@odograph/codec/teltonika/packets';
import { afterEach, describe, expect, it } from 'vitest';
import { TeltonikaDevice, type TeltonikaDeviceOptions } from './teltonika-device.ts';

const imei = '350000000000001';
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const timesOf = (data: Buffer) => decodeTeltonika(data).readings.map(({ reading }) => reading.timestamp);

/** Reads a hello, then packets; closes the connection at a fault. */
function readFrames(socket: Socket, onFrame: (frame: Frame) => void): void {
  let pending: Buffer = Buffer.alloc(0);
  let read = readHello;
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    for (let next = read(pending); next.frame || next.fault; next = read(pending)) {
      if (next.fault || !next.frame) return socket.destroy();
      pending = pending.subarray(next.bytes);
      read = readPacket;
      onFrame(next.frame);
    }
    return socket;
  });
}

/** A platform that acknowledges the packets for which `acknowledges` is true, and keeps their times. */
async function startPlatform(acknowledges: (packet: number) => boolean = () => true) {
  const stored: number[] = [];
  const answers: string[] = [];
  const sockets: Socket[] = [];
  let packets = 0;
  const receive = (data: Buffer, socket: Socket) => {
    const texts = readMessages(data);
    if (texts) return answers.push(...texts.map(({ bytes }) => bytes.toString()));
    packets += 1;
    if (!acknowledges(packets)) return socket.destroy();
    stored.push(...timesOf(data));
    return socket.write(acknowledgeRecords(data[1] ?? 0));
  };
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    readFrames(socket, (frame) => {
      if (frame.kind === 'imei') socket.write(answerHello(frame.imei === imei));
      if (frame.kind === 'packet') receive(frame.data, socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { port, stored, answers, sockets };
}

function createDevice(port: number, options: Partial<TeltonikaDeviceOptions> = {}): TeltonikaDevice {
  const device = new TeltonikaDevice({ host: '127.0.0.1', port, imei, answerTimeoutMs: 2000, ...options });
  closers.push(() => device.close());
  return device;
}

const fill = (device: TeltonikaDevice, records: number) => {
  for (let timestamp = 1; timestamp <= records; timestamp += 1) device.record({ timestamp });
};
const times = (records: number) => Array.from({ length: records }, (_unused, index) => index + 1);

describe('a simulated Teltonika device', () => {
  it.each(['whole', 'split', 'slow'] as const)('sends what it buffered, writing %s', async (writes) => {
    const { port, stored } = await startPlatform();
    const device = createDevice(port, { writes, recordsPerPacket: 2, packetsAtOnce: 2 });
    const records = writes === 'slow' ? 1 : 21;
    fill(device, records);
    await device.drain();
    expect(stored).toEqual(times(records));
    expect(device.bufferedRecords).toBe(0);
  });

  it('connects again and repeats what was not acknowledged, in order', async () => {
    const { port, stored, sockets } = await startPlatform((packet) => packet % 3 !== 0);
    const device = createDevice(port, { recordsPerPacket: 10 });
    fill(device, 100);
    await device.drain();
    expect(stored).toEqual(times(100));
    expect(sockets.length).toBeGreaterThan(3);
  });

  it('stops where its IMEI is refused, and when its packet has a wrong checksum', async () => {
    const { port, stored } = await startPlatform();
    const stranger = createDevice(port, { imei: '350000000000002' });
    fill(stranger, 1);
    await expect(stranger.drain()).rejects.toThrow('350000000000002');
    const device = createDevice(port);
    fill(device, 1);
    expect(await device.connect()).toBe(true);
    await device.sendCorrupt();
    await device.closed;
    expect([stored, device.bufferedRecords]).toEqual([[], 1]);
  });

  it('answers commands', async () => {
    const { port, answers, sockets } = await startPlatform();
    const device = createDevice(port, { answer: (text) => (text === 'getinfo' ? 'INI:2019' : undefined) });
    await device.connect();
    for (const text of ['silent', 'getinfo']) sockets[0]?.write(encodeCommand(text));
    fill(device, 1);
    await device.drain();
    expect(answers).toEqual(['INI:2019']);
  });

  it('repeats over UDP what was lost', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    closers.push(() => socket.close());
    const stored: number[] = [];
    let packets = 0;
    socket.on('message', (message, { port, address }) => {
      const datagram = readDatagram(message);
      packets += 1;
      if (!datagram || packets === 2) return;
      stored.push(...timesOf(datagram.data));
      socket.send(acknowledgeDatagram(datagram, datagram.data[1] ?? 0), port, address);
    });
    const device = createDevice(socket.address().port, {
      transport: 'udp',
      recordsPerPacket: 5,
      answerTimeoutMs: 200,
      codec: 'codec16',
    });
    fill(device, 20);
    await device.drain();
    expect(stored).toEqual(times(20));
  });
});
