import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { deviceTopic } from '@odograph/contracts/topics';
import type { Limits } from '@odograph/runtime/limits';
import { DeviceThrottle } from '@odograph/sessions/throttle';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectPacket, openMessenger, openSocket, packet } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';

let platform: TestPlatform;

const uploadsPerSecond = 20;
const burst = 10 * uploadsPerSecond;
const start = (limits: Partial<Limits>) =>
  startTestPlatform([brokerService], {}, limits).then((started) => (platform = started));

/** Publishes as fast as the connection takes it. @returns the number of PUBACKs so far */
function flood(device: DeviceConnection, uploads: number, payload: string): () => number {
  let acknowledged = 0;
  for (let n = 0; n < uploads; n += 1) {
    device.upload(payload).then(
      () => {
        acknowledged += 1;
      },
      () => undefined,
    );
  }
  return () => acknowledged;
}

describe('the broker', () => {
  afterEach(() => platform.stop());

  it('reads no more uploads from a flooding device than its rate allows, and delays no other device', async () => {
    await start({ deviceUploadsPerSecond: uploadsPerSecond });
    const identity = await createDevice(platform.db);
    const flooding = await connectDevice(platform.mqttUrl, identity);
    const other = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    const acknowledged = flood(flooding, 20_000, JSON.stringify({ timestamp: 1, padding: 'x'.repeat(1000) }));
    const startMs = performance.now();
    // Without fairness, each of these would wait for the whole flood.
    for (let n = 0; n < 30; n += 1) {
      await other.upload({ timestamp: n });
      await delay(100);
    }
    await eventually(async () => expect(acknowledged()).toBeGreaterThanOrEqual(burst));
    const seconds = (performance.now() - startMs) / 1000;
    // One chunk of a socket (64 KiB) may exceed the burst.
    expect(acknowledged()).toBeLessThan(burst + (seconds + 2) * uploadsPerSecond + 130);
    expect(flooding.client.connected).toBe(true);
    expect(await platform.metrics.getSingleMetricAsString('odograph_broker_throttled_total')).toMatch(/ [1-9]/);
    await Promise.all([flooding.close('cut'), other.close()]);
  });

  it('counts the uploads of a device over its connections, and goes on at its rate', async () => {
    await start({ deviceUploadsPerSecond: uploadsPerSecond });
    const identity = await createDevice(platform.db);
    const startMs = performance.now();
    const first = await connectDevice(platform.mqttUrl, identity);
    for (let n = 0; n < burst + 5; n += 1) await first.upload({ timestamp: n });
    await first.close();
    const second = await connectDevice(platform.mqttUrl, identity);
    for (let n = 0; n < 2 * uploadsPerSecond; n += 1) await second.upload({ timestamp: n });
    // However slow the machine, the uploads beyond the burst take their time.
    expect(performance.now() - startMs).toBeGreaterThan(2000);
    await second.close();
  });

  it('reads no more bytes from a device than its rate allows', async () => {
    await start({ deviceBytesPerSecond: 50_000 });
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    const startMs = performance.now();
    const acknowledged = flood(device, 200, 'x'.repeat(50_000));
    await eventually(async () => expect(acknowledged()).toBeGreaterThanOrEqual(9));
    await delay(1000);
    expect(acknowledged()).toBeLessThan(18 + (performance.now() - startMs) / 1000);
    await device.close('cut');
  });

  it('applies the rates that an application sets for its devices from their next connection on', async () => {
    await start({ deviceUploadsPerSecond: uploadsPerSecond });
    const application = await createApplication(platform.db);
    const identity = await createDevice(platform.db, { applicationId: application.id });
    const setRate = (rate: number | null) =>
      sql`update application set device_uploads_per_second = ${rate} where id = ${application.id}`.execute(platform.db);
    const uploads = 1000;
    const payload = JSON.stringify({ padding: 'x'.repeat(200) });
    await setRate(uploads);
    const fast = await connectDevice(platform.mqttUrl, identity);
    const acknowledged = flood(fast, uploads, payload);
    await eventually(async () => expect(acknowledged()).toBe(uploads));
    await fast.close();
    await setRate(null);
    const slow = await connectDevice(platform.mqttUrl, identity);
    const acknowledgedSlowly = flood(slow, uploads, payload);
    await delay(2000);
    expect(acknowledgedSlowly()).toBeLessThan(uploads);
    await slow.close('cut');
  });
});

describe('the packets of a device other than uploads', () => {
  const burstPackets = 10 * 50;
  const id = Buffer.from([0, 7]);
  const topic = Buffer.from([0, 1, 120]);
  beforeAll(() => start({ deviceUploadsPerSecond: 50 }));
  afterAll(() => platform.stop());
  const refused = async (reason: string): Promise<number> => {
    const { values } = (await platform.metrics.getSingleMetric('odograph_broker_refused_total')?.get()) ?? {
      values: [],
    };
    return values.find(({ labels }) => labels['reason'] === reason)?.value ?? 0;
  };
  const pauses = async (): Promise<number> =>
    (await platform.metrics.getSingleMetric('odograph_broker_throttled_total')?.get())?.values[0]?.value ?? 0;
  /** A broken connection is an error before it is closed. */
  const end = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
  const connectSocket = async () => {
    const { deviceId, secret } = await createDevice(platform.db);
    const socket = await openSocket(platform.mqttUrl);
    socket.write(connectPacket({ clientId: deviceId, username: deviceId, password: secret }));
    await once(socket, 'data');
    return socket.resume();
  };

  it.each([
    ['PUBACK', 'unexpected_acknowledgements', packet(0x40, id)],
    ['PUBREC', 'unexpected_acknowledgements', packet(0x50, id)],
    ['PUBCOMP', 'unexpected_acknowledgements', packet(0x70, id)],
    ['PUBREL', 'packet_rate', packet(0x62, id)],
    ['PINGREQ', 'packet_rate', packet(0xc0)],
    ['SUBSCRIBE', 'packet_rate', packet(0x82, id, topic, Buffer.from([1]))],
    ['SUBSCRIBE of 2,000 topics', 'packet_rate', packet(0x82, id, Buffer.alloc(8000, Buffer.from([0, 1, 120, 1])))],
    ['UNSUBSCRIBE', 'packet_rate', packet(0xa2, id, topic)],
  ])('close its session when it floods with %s, before they are handled', async (_name, reason, flood) => {
    const before = await refused(reason);
    const socket = await connectSocket();
    const chunk = Buffer.concat(Array.from({ length: Math.ceil(200_000 / flood.length) }, () => flood));
    socket.write(chunk);
    await end(socket);
    expect(await refused(reason)).toBe(before + 1);
    // A burst may have arrived on its own, and be answered by five bytes or less each.
    expect(socket.bytesRead).toBeLessThan(5 * 3 * burstPackets + 100);
  });

  it('close a connection that sends too many of them before its CONNACK', async () => {
    const before = await refused('packet_rate');
    const { deviceId, secret } = await createDevice(platform.db);
    const socket = await openSocket(platform.mqttUrl);
    const connect = connectPacket({ clientId: deviceId, username: deviceId, password: secret });
    socket.write(Buffer.concat([connect, Buffer.alloc(100_000, packet(0xc0))]));
    await end(socket);
    expect(await refused('packet_rate')).toBe(before + 1);
  });

  it('are counted over its connections, so that a closed session is not replaced at once', async () => {
    const { deviceId, secret } = await createDevice(platform.db);
    const connect = connectPacket({ clientId: deviceId, username: deviceId, password: secret });
    const ping = async () => {
      const socket = await openSocket(platform.mqttUrl);
      socket.write(connect);
      await once(socket, 'data');
      return socket;
    };
    const first = await ping();
    first.resume().write(Buffer.alloc(100_000, packet(0xc0)));
    await end(first);
    const before = await pauses();
    const second = await ping();
    second.write(packet(0xc0));
    await eventually(async () => expect(await pauses()).toBeGreaterThan(before));
    second.destroy();
  });

  it('spare a device that acknowledges a message a few times', async () => {
    const socket = await connectSocket();
    socket.write(Buffer.concat(Array.from({ length: 3 }, () => packet(0x40, id))));
    socket.write(packet(0xc0));
    expect(await once(socket, 'data')).toEqual([packet(0xd0)]);
    socket.destroy();
  });

  it('are free where they acknowledge messages that the platform sent', async () => {
    const before = await pauses();
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const keys = deviceTopic(identity.deviceId, 'keys');
    await device.client.subscribeAsync(keys, { qos: 1 });
    const messages = 3 * burstPackets;
    let received = 0;
    device.client.on('message', () => (received += 1));
    const messenger = await openMessenger(platform.config);
    const sent = Array.from({ length: messages }, (_, version) =>
      messenger.sendKeyList(identity.deviceId, `{"version":${version}}`),
    );
    await Promise.all(sent);
    await eventually(async () => expect(received).toBe(messages));
    // Behind all PUBACKs of the connection.
    await device.upload({ timestamp: 1 });
    expect(await pauses()).toBe(before);
    messenger.close();
    await device.close();
  });

  it('allow as many uploads at QoS 2 as at QoS 1', async () => {
    const before = await pauses();
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const telemetry = deviceTopic(identity.deviceId, 'telemetry');
    const uploads = Array.from({ length: burstPackets - 100 }, (_, timestamp) =>
      device.client.publishAsync(telemetry, JSON.stringify({ timestamp }), { qos: 2 }),
    );
    await Promise.all(uploads);
    expect(await pauses()).toBe(before);
    await device.close();
  });
});

describe('the share of a device in the live lane', () => {
  const rates = { uploadsPerSecond: 50, bytesPerSecond: 512 * 1024 };
  let nowMs = 0;
  const createThrottle = () => new DeviceThrottle(rates, nowMs);

  it('covers a burst of 64 KiB, and then 16 KiB/s for any length of time', () => {
    const throttle = createThrottle();
    expect(throttle.isWithinLiveShare(64 * 1024, nowMs)).toBe(true);
    for (let second = 0; second < 100; second += 1) {
      nowMs += 1000;
      expect(throttle.isWithinLiveShare(16 * 1024, nowMs)).toBe(true);
    }
    expect(throttle.isWithinLiveShare(1, nowMs)).toBe(false);
  });

  it('is free again seconds after the device slows down, whatever it uploaded before', () => {
    const throttle = createThrottle();
    for (let upload = 0; upload < 1000; upload += 1) throttle.isWithinLiveShare(250 * 1024, nowMs);
    expect(throttle.isWithinLiveShare(20 * 1024, nowMs)).toBe(false);
    nowMs += 2000;
    expect(throttle.isWithinLiveShare(20 * 1024, nowMs)).toBe(true);
  });
});
