import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { decodeTeltonika } from '@odograph/codec/teltonika/decode.fixture';
import { wrapPacket } from '@odograph/codec/teltonika/packets';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { TeltonikaDevice, type TeltonikaDeviceOptions } from '@odograph/simulator/teltonika-device';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice, createImei } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { openUploadQueues } from '@odograph/testkit/queued-uploads';
import { usePlatform } from '@odograph/testkit/scopes';
import fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { gatewayService } from '../service.ts';

const open: { close(): unknown }[] = [];

const heldBytes = 100_000;

const port = await freePort();
const platform = await usePlatform([gatewayService], { TELTONIKA_PORT: String(port) }, { maxHeldBytes: heldBytes });
const queues = openUploadQueues(platform.config);
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});
afterAll(() => queues.close());

/** Registers a device. @returns its IMEI */
async function createImeiOf(model: string): Promise<string> {
  return (await createDevice(platform.db, { deviceId: createImei(), model })).deviceId;
}

/** Registers a device of a Teltonika model and simulates it. */
async function createTracker(options: Partial<TeltonikaDeviceOptions> = {}): Promise<TeltonikaDevice> {
  return simulate({ imei: await createImeiOf('teltonika'), ...options });
}

function simulate(options: Partial<TeltonikaDeviceOptions> & { imei: string }): TeltonikaDevice {
  const device = new TeltonikaDevice({ host: '127.0.0.1', port, ...options });
  open.push(device);
  return device;
}

/** A packet that is acknowledged, and goes to the quarantine. */
const undecodable = Buffer.from([0x08, 1, 1, 2, 3, 1]);

const nowSeconds = (): number => Math.floor(Date.now() / 1000);

function recordReadings(device: TeltonikaDevice, count: number, first = nowSeconds() - count): number[] {
  const times = Array.from({ length: count }, (_unused, index) => first + index);
  for (const timestamp of times) {
    device.record({ timestamp, location: { latitude: 48.8, longitude: 2.3, satellites: 9 } });
  }
  return times;
}

/** The uploads of a device that wait in the queue. */
async function uploadsOf(imei: string): Promise<QueuedUpload[]> {
  return (await queues.uploads()).filter(({ deviceId }) => deviceId === imei);
}

async function queuedTimes(imei: string): Promise<number[]> {
  const payloads = (await uploadsOf(imei)).map(({ text, base64 }) =>
    Buffer.from(text ?? base64 ?? '', text ? 'utf8' : 'base64'),
  );
  return payloads.flatMap((payload) => decodeTeltonika(payload).readings.map(({ reading }) => reading.timestamp));
}

async function refused(reason: string): Promise<number> {
  const { values } = (await platform.metrics.getSingleMetric('odograph_gateway_refused_total')?.get()) ?? {
    values: [],
  };
  return values.find(({ labels }) => labels['reason'] === reason)?.value ?? 0;
}

async function openSocket(): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  open.push({ close: () => socket.destroy() });
  await once(socket, 'connect');
  return socket;
}

const hello = (imei: string): Buffer => Buffer.concat([Buffer.from([0, imei.length]), Buffer.from(imei)]);

describe('a Teltonika device', () => {
  it.each([
    ['codec8', 'tcp'],
    ['codec8Extended', 'tcp'],
    ['codec16', 'tcp'],
    ['codec8', 'udp'],
    ['codec8Extended', 'udp'],
  ] as const)('finds its acknowledged records of %s over %s in the queue', async (codec, transport) => {
    const imei = await createImeiOf('teltonika');
    const device = simulate({ imei, codec, transport });
    expect(await device.connect()).toBe(true);
    const times = recordReadings(device, 30);
    expect(await device.send()).toBe(25);
    expect(await device.send()).toBe(5);
    expect(await queuedTimes(imei)).toEqual(times);
  });

  it('uploads hundreds of buffered records at once, in packets glued together', async () => {
    const imei = await createImeiOf('teltonika');
    const device = simulate({ imei, packetsAtOnce: 20, recordsPerPacket: 40 });
    await device.connect();
    const times = recordReadings(device, 800);
    expect(await device.send()).toBe(800);
    expect((await queuedTimes(imei)).sort((a, b) => a - b)).toEqual(times);
  });

  it('queues what was recorded long ago behind live uploads', async () => {
    const imei = await createImeiOf('teltonika');
    const device = simulate({ imei });
    await device.connect();
    recordReadings(device, 1, nowSeconds() - 3600);
    await device.send();
    const late = await queues.late.getJobs(['wait']);
    expect(late.flatMap(({ data }) => data.uploads).map(({ deviceId }) => deviceId)).toContain(imei);
  });

  it('replaces its earlier connection when it connects again', async () => {
    const imei = await createImeiOf('teltonika');
    const first = simulate({ imei });
    await first.connect();
    const second = simulate({ imei });
    await second.connect();
    await first.closed;
    recordReadings(second, 1);
    expect(await second.send()).toBe(1);
  });
});

describe('the listener', () => {
  it('leaves open only the newest of many connections that sign in with one IMEI at once', async () => {
    const imei = await createImeiOf('teltonika');
    const sockets = await Promise.all(Array.from({ length: 300 }, openSocket));
    for (const socket of sockets) socket.resume().write(hello(imei));
    const isOpen = (socket: Socket): boolean => !socket.destroyed && !socket.readableEnded;
    await eventually(async () => expect(sockets.filter(isOpen)).toHaveLength(1));
    const [newest] = sockets.filter(isOpen);
    expect(newest).toBe(sockets.at(-1));
    newest?.write(wrapPacket(undecodable));
    await eventually(async () => expect(newest?.bytesRead).toBe(5));
    expect(sockets.filter(isOpen)).toEqual([newest]);
  });

  it('accepts pings before the hello, and a repeated hello between packets', async () => {
    const imei = await createImeiOf('teltonika');
    const socket = (await openSocket()).resume();
    socket.write(Buffer.concat([Buffer.from([0xff, 0xff]), hello(imei), wrapPacket(undecodable)]));
    await eventually(async () => expect(socket.bytesRead).toBe(5));
    socket.write(Buffer.concat([hello(imei), wrapPacket(undecodable)]));
    await eventually(async () => expect(socket.bytesRead).toBe(10));
    expect(await uploadsOf(imei)).toHaveLength(2);
  });

  it('ends a connection that names another IMEI, and stores nothing that follows under the first', async () => {
    const [first, second] = [await createImeiOf('teltonika'), await createImeiOf('teltonika')];
    const socket = (await openSocket()).resume();
    socket.write(Buffer.concat([hello(first), wrapPacket(undecodable), hello(second), wrapPacket(undecodable)]));
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(5);
    expect([(await uploadsOf(first)).length, (await uploadsOf(second)).length]).toEqual([1, 0]);
  });

  it('refuses an IMEI that is unknown, or of a device that reports over MQTT, and counts it', async () => {
    const before = await refused('unknown_device');
    expect(await simulate({ imei: createImei() }).connect()).toBe(false);
    expect(await simulate({ imei: await createImeiOf('generic') }).connect()).toBe(false);
    expect(await refused('unknown_device')).toBe(before + 2);
  });

  it('closes a connection with a wrong checksum without an answer, and keeps no record of it', async () => {
    const imei = await createImeiOf('teltonika');
    const device = simulate({ imei });
    await device.connect();
    recordReadings(device, 5);
    await device.sendCorrupt();
    await device.closed;
    expect(await uploadsOf(imei)).toEqual([]);
    expect(device.bufferedRecords).toBe(5);
    // The device connects again and repeats them.
    await device.drain();
    expect(await queuedTimes(imei)).toHaveLength(5);
  });

  it('acknowledges a packet that it cannot decode, and queues its bytes for the quarantine', async () => {
    const tracker = await createTracker();
    await tracker.connect();
    const data = Buffer.from([0x08, 2, 1, 2, 3, 2]);
    await tracker.write(wrapPacket(data));
    await eventually(async () => {
      const uploads = await queues.uploads();
      expect(uploads.some(({ text }) => text !== undefined && Buffer.from(text).equals(data))).toBe(true);
    });
  });

  it('closes a connection with a packet of a codec that it does not read, without an answer', async () => {
    const tracker = await createTracker();
    await tracker.connect();
    const before = await refused('codec');
    const { wrapPacket } = await import('@odograph/codec/teltonika/packets');
    await tracker.write(wrapPacket(Buffer.from([0x07, 1, 1, 2, 3, 1])));
    await tracker.closed;
    expect(await refused('codec')).toBe(before + 1);
  });

  it('requests no camera files, and continues with the records', async () => {
    const tracker = await createTracker();
    await tracker.connect();
    const before = await refused('file');
    const { wrapPacket } = await import('@odograph/codec/teltonika/packets');
    // The announcement of a file: type 0x0D, then 5 bytes.
    await tracker.write(wrapPacket(Buffer.from([0x0c, 1, 0x0d, 0, 0, 0, 5, 1, 0, 0, 0, 7, 1])));
    recordReadings(tracker, 3);
    expect(await tracker.send()).toBe(3);
    expect(await refused('file')).toBe(before + 1);
  });

  it.each([
    ['something other than a hello', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['an IMEI of an absurd length', Buffer.from([0xff, 0xff, 0x31])],
    ['an IMEI that is not digits', hello('35000000000000x')],
  ])('closes a connection that begins with %s', async (_what, bytes) => {
    const socket = await openSocket();
    socket.write(bytes);
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
  });

  it('closes a connection whose packet has an absurd length, without waiting for it', async () => {
    const imei = await createImeiOf('teltonika');
    const socket = await openSocket();
    socket.write(hello(imei));
    await once(socket, 'data');
    socket.write(Buffer.from([0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]));
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(1);
  });

  it('holds no more bytes of packets that are not complete than its limit', async () => {
    const sockets: Socket[] = [];
    const before = await refused('held_bytes');
    for (let count = 0; count < 4; count += 1) {
      const imei = await createImeiOf('teltonika');
      const socket = await openSocket();
      socket.write(hello(imei));
      await once(socket, 'data');
      socket.write(Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0xf0, 0]), Buffer.alloc(heldBytes / 3)]));
      sockets.push(socket);
    }
    await eventually(async () => expect(await refused('held_bytes')).toBeGreaterThan(before));
    for (const socket of sockets) socket.destroy();
    // The bytes held by closed connections are free again.
    const tracker = await createTracker();
    await tracker.connect();
    recordReadings(tracker, 25);
    expect(await tracker.send()).toBe(25);
  });

  it('survives any bytes, before and after the hello', async () => {
    const imei = await createImeiOf('teltonika');
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), fc.boolean(), async (bytes, signsIn) => {
        const socket = await openSocket();
        socket.write(signsIn ? Buffer.concat([hello(imei), bytes]) : bytes);
        socket.end();
        await once(socket.resume(), 'close');
      }),
      { numRuns: 100 },
    );
    const device = simulate({ imei });
    expect(await device.connect()).toBe(true);
  });
});
