import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, expect, it } from 'vitest';
import { openSocket } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { createSelfSigned } from './certificates.fixture.ts';

let platform: TestPlatform;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await platform.stop();
});

async function openSilent(url: string, count: number): Promise<Socket[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => openSocket(url)));
  sockets.push(...opened);
  return opened;
}

const openSockets = (list: readonly Socket[]) => list.filter((socket) => !socket.closed).length;
const refusedFor = async (reason: string) =>
  (await platform.metrics.getSingleMetricAsString('odograph_broker_refused_total')).includes(`reason="${reason}"`);

it('keeps the connections that are open at the limit, and closes further ones, which /health shows', async () => {
  platform = await startTestPlatform([brokerService], {}, { maxDeviceConnections: 1 });
  const health = async () => (await platform.anonymous.get('/health')).body.services.broker;
  const first = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  expect(await health()).toEqual({ ok: true, state: 'listening' });
  await expect(connectDevice(platform.mqttUrl, await createDevice(platform.db))).rejects.toThrow('closed');
  expect(await health()).toEqual({
    ok: true,
    state: expect.stringMatching(/^listening; throttling connections: \d not authenticated yet, [1-9] refused/),
  });
  await first.upload({ timestamp: 1 });
  await first.close();
});

it('closes the oldest silent connection for a new one, so that devices connect while a stranger holds all it may', async () => {
  platform = await startTestPlatform([brokerService], {}, { maxUnauthenticatedConnections: 20 });
  const silent = await openSilent(platform.mqttUrl, 60);
  await eventually(async () => expect(openSockets(silent)).toBe(20));
  const devices = await Promise.all(
    Array.from({ length: 10 }, async () => connectDevice(platform.mqttUrl, await createDevice(platform.db))),
  );
  for (const device of devices) await device.upload({ timestamp: 1 });
  expect(await refusedFor('unauthenticated')).toBe(true);
  await openSilent(platform.mqttUrl, 60);
  expect(devices.every(({ client }) => client.connected)).toBe(true);
  await Promise.all(devices.map((device) => device.close()));
});

it('closes new connections of an address with too many silent ones, and none of another address', async () => {
  platform = await startTestPlatform([brokerService], {}, { maxUnauthenticatedConnectionsPerAddress: 5 });
  const silent = await openSilent(platform.mqttUrl, 20);
  await eventually(async () => expect(openSockets(silent)).toBe(5));
  await expect(connectDevice(platform.mqttUrl, await createDevice(platform.db))).rejects.toThrow('closed');
  const { port } = new URL(platform.mqttUrl);
  const other = connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.2' });
  sockets.push(other);
  await once(other, 'connect');
  silent[0]?.destroy();
  await eventually(async () => {
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    await device.close();
  });
  expect(other.closed).toBe(false);
});

it.skipIf(!hasOpenssl)('counts connections before their TLS handshake', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-tls-'));
  const { certificate, key } = createSelfSigned(directory, 'localhost');
  const port = String(await freePort());
  const settings = { MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key, MQTTS_PORT: port };
  platform = await startTestPlatform([brokerService], settings, { maxUnauthenticatedConnections: 5 });
  const url = `mqtts://127.0.0.1:${port}`;
  const silent = await openSilent(url, 20);
  await eventually(async () => expect(openSockets(silent)).toBe(5));
  const device = await connectDevice(url, await createDevice(platform.db), { rejectUnauthorized: false });
  await openSilent(url, 20);
  await device.upload({ timestamp: 1 });
  await device.close();
  await rm(directory, { recursive: true });
});
