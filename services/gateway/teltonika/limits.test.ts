import { once } from 'node:events';
import { connect } from 'node:net';
import { encodeAnswer } from '@odograph/codec/teltonika/commands';
import { encodeHello } from '@odograph/codec/teltonika/encode';
import type { Limits } from '@odograph/runtime/limits';
import { TeltonikaDevice } from '@odograph/simulator/teltonika-device';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice, createImei } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayService } from '../service.ts';

let port: number;
const open: { close(): unknown }[] = [];

beforeEach(async () => {
  port = await freePort();
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function startGateway(settings: Record<string, string>, limits: Partial<Limits> = {}): Promise<TestPlatform> {
  const gateway = await startTestPlatform([gatewayService], { TELTONIKA_PORT: String(port), ...settings }, limits);
  open.push({ close: () => gateway.stop() });
  return gateway;
}

/** Registers a Teltonika device. @returns its IMEI */
async function createImeiAt({ db }: TestPlatform): Promise<string> {
  return (await createDevice(db, { deviceId: createImei(), model: 'teltonika' })).deviceId;
}

/** Simulates a device with one record. A UDP device is connected at once. */
async function createTracker(gateway: TestPlatform, transport: 'tcp' | 'udp'): Promise<TeltonikaDevice> {
  const imei = await createImeiAt(gateway);
  const device = new TeltonikaDevice({
    host: '127.0.0.1',
    port,
    imei,
    transport,
    answerTimeoutMs: transport === 'tcp' ? 5000 : 300,
  });
  open.push(device);
  device.record({ timestamp: Math.floor(Date.now() / 1000), location: { latitude: 48.8, longitude: 2.3 } });
  if (transport === 'udp') await device.connect();
  return device;
}

const refusedBy = ({ metrics }: TestPlatform) => metrics.getSingleMetricAsString('odograph_gateway_refused_total');

describe('the listener for Teltonika devices', () => {
  it('accepts neither connections nor datagrams from networks outside TELTONIKA_NETWORKS', async () => {
    const gateway = await startGateway({ TELTONIKA_NETWORKS: '10.0.0.0/8,fd00::/8' });
    await expect((await createTracker(gateway, 'tcp')).connect()).rejects.toThrow('the connection is closed');
    await expect((await createTracker(gateway, 'udp')).send()).rejects.toThrow('no answer');
    expect(await refusedBy(gateway)).toContain('{listener="teltonika",reason="network"} 2');
  });

  it('accepts connections and no datagrams without TELTONIKA_UDP', async () => {
    const gateway = await startGateway({ TELTONIKA_UDP: 'false', TELTONIKA_NETWORKS: '127.0.0.0/8' });
    expect(await (await createTracker(gateway, 'tcp')).connect()).toBe(true);
    await expect((await createTracker(gateway, 'udp')).send()).rejects.toThrow('no answer');
  });

  it.each([
    ['before', 150, 0],
    // As many before it as a device sends in minutes are no flood.
    ['after', 50, 1],
  ])('closes a connection that floods it with pings %s the hello, and counts it', async (_when, pings, answers) => {
    const gateway = await startGateway({});
    const socket = connect(port, '127.0.0.1').resume();
    socket.on('error', () => undefined);
    const closed = once(socket, 'close');
    socket.write(Buffer.concat([Buffer.alloc(pings, 0xff), encodeHello(await createImeiAt(gateway))]));
    await eventually(async () => expect(socket.bytesRead).toBe(answers));
    socket.write(Buffer.alloc(1000, 0xff));
    await closed;
    expect(await refusedBy(gateway)).toContain('{listener="teltonika",reason="budget"} 1');
    // The address of the flood is still served.
    expect(await (await createTracker(gateway, 'tcp')).connect()).toBe(true);
  });

  it('drops and counts the datagrams of an address above its rate', async () => {
    const gateway = await startGateway({}, { teltonikaUploadsPerSecondPerAddress: 1 });
    const device = await createTracker(gateway, 'udp');
    expect(await device.send()).toBe(1);
    for (let count = 0; count < 20; count += 1) await device.write(Buffer.alloc(20));
    await eventually(async () => expect(await refusedBy(gateway)).toContain('reason="budget"'));
  });

  it('reads the connections of an address no faster than its rate', async () => {
    const gateway = await startGateway({}, { teltonikaUploadsPerSecondPerAddress: 1 });
    const throttled = () => gateway.metrics.getSingleMetricAsString('odograph_gateway_throttled_total');
    expect(await throttled()).toContain('total 0');
    const trackers = [];
    for (let count = 0; count < 20; count += 1) trackers.push(await createTracker(gateway, 'tcp'));
    // More at once than the address may send in ten seconds.
    await Promise.all(trackers.map((tracker) => tracker.connect()));
    await eventually(async () => expect(await throttled()).not.toContain('total 0'));
  });

  it('reads messages no faster than the packets of a device, and loses none', async () => {
    const gateway = await startGateway({}, { deviceUploadsPerSecond: 1 });
    const socket = connect(port, '127.0.0.1').resume();
    open.push({ close: () => socket.destroy() });
    await once(socket, 'connect');
    const messages = Array.from({ length: 12 }, () => encodeAnswer('AXLE 4200'));
    socket.write(Buffer.concat([encodeHello(await createImeiAt(gateway)), ...messages]));
    const counted = async (name: string) =>
      (await gateway.metrics.getSingleMetricAsString(`odograph_gateway_${name}`)).split(' ').at(-1);
    await eventually(async () => expect(await counted('accepted_uploads_total')).toBe('12'));
    expect(await counted('device_messages_total')).toBe('12');
    expect(Number(await counted('throttled_total'))).toBeGreaterThan(0);
    // Not acknowledged, as the device would take it for the acknowledgement of records.
    expect(socket.bytesRead).toBe(1);
  });
});
