import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { createSelfSigned } from '@odograph/broker/connect/certificates.fixture';
import { brokerService } from '@odograph/broker/service';
import { encodeHello } from '@odograph/codec/teltonika/encode';
import { commandService } from '@odograph/command/service';
import { brokerKey, presenceKey } from '@odograph/contracts/presence';
import { fleetService } from '@odograph/fleet/service';
import { gatewayService } from '@odograph/gateway/service';
import { createLogger } from '@odograph/runtime/logger';
import { awaitRedis, connectRedis } from '@odograph/runtime/redis';
import { TeltonikaDevice } from '@odograph/simulator/teltonika-device';
import { clientWithToken } from '@odograph/testkit/api-client';
import { roleSettings } from '@odograph/testkit/database-roles';
import { eventually } from '@odograph/testkit/eventually';
import { createApplication, createImei, createVehicle } from '@odograph/testkit/fixtures';
import { freePort } from '@odograph/testkit/free-port';
import { hasOpenssl } from '@odograph/testkit/programs';
import { usePlatform } from '@odograph/testkit/scopes';
import { testDatabaseUrl } from '@odograph/testkit/test-database';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, describe, expect, it } from 'vitest';

const devices: TeltonikaDevice[] = [];
const sockets: Socket[] = [];

const port = await freePort();
const platform = await usePlatform([brokerService, gatewayService, fleetService, commandService], {
  ...roleSettings(testDatabaseUrl()),
  TELTONIKA_PORT: String(port),
  ACK_TIMEOUT_MS: '1500',
});
const application = await createApplication(platform.db);
const api = platform.as(application.token);
const { admin } = platform;
afterEach(async () => {
  for (const device of devices.splice(0)) await device.close();
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Creates a vehicle with a Teltonika device that answers commands, and connects it. */
async function connect(answer: (text: string) => string | undefined, model = 'teltonika-outputs') {
  const imei = createImei();
  const { id } = await createVehicle(platform.db, application, { deviceId: imei, model });
  const heard: string[] = [];
  const device = new TeltonikaDevice({
    ...{ host: '127.0.0.1', port, imei },
    answer(text) {
      heard.push(text);
      return answer(text);
    },
  });
  devices.push(device);
  expect(await device.connect()).toBe(true);
  const act = (action: string) => api.post(`/v1/vehicle/${action}`, { vehicleId: id });
  return { id, imei, device, heard, act };
}

/** Opens a connection and signs in. */
async function openSocket(imei: string): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1');
  sockets.push(socket);
  socket.write(encodeHello(imei));
  await once(socket, 'data');
  return socket;
}

/** Opens a TLS connection of a device over a TCP connection that stays half-open. */
async function openTls(to: number) {
  const tcp = connectTcp({ port: to, host: '127.0.0.1', allowHalfOpen: true });
  const relay = createServer((socket) => {
    socket.on('error', () => undefined).pipe(tcp, { end: false });
    tcp.pipe(socket, { end: false });
  });
  await once(relay.listen(0, '127.0.0.1'), 'listening');
  const device = connectTls({ port: (relay.address() as AddressInfo).port, rejectUnauthorized: false });
  sockets.push(device, tcp);
  await once(
    device.on('error', () => undefined),
    'secureConnect',
  );
  return { device, tcp, close: () => relay.close() };
}

/** Returns the error code of a connection that is reset; "open" if the other end only closes its side. */
function errorCodeAtEnd(tcp: Socket): Promise<string> {
  return new Promise((resolve) => {
    tcp.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
    // Only the next write detects a reset, which follows the end of the stream immediately.
    const write = () => tcp.write('x', (error) => error ?? resolve('open'));
    tcp.once('end', () => setTimeout(write, 200));
  });
}

const commandsOf = async (vehicleId: string) => (await api.get(`/v1/x/commands?vehicleId=${vehicleId}`)).body.commands;

describe('an action on a vehicle with a Teltonika device', () => {
  it('is what the device did: the text of its model over TCP, and its answer', async () => {
    const { id, heard, act } = await connect((text) =>
      text === 'setdigout 1?' ? 'DOUT1:ON Timeout:INFINITY DOUT2:IGNORED' : 'DOUTS are set to:00 TMOs are: 0 0',
    );
    expect(await act('immobilize')).toMatchObject({ status: 200, body: { Status: 'LOCKED' } });
    expect(await act('start')).toMatchObject({ status: 200, body: { Status: 'UNLOCKED' } });
    expect(heard).toEqual(['setdigout 1?', 'setdigout 0?']);
    expect((await commandsOf(id)).map(({ state }: { state: string }) => state)).toEqual([
      'acknowledged',
      'acknowledged',
    ]);
  });

  it('fails with the words of a device that refuses', async () => {
    const { act } = await connect(() => 'DOUT is disabled from CFG');
    const { status, body } = await act('immobilize');
    expect([status, body.reason, body.message]).toEqual([504, 'REFUSED', 'DOUT is disabled from CFG']);
  });

  it('is unknown without an answer; the connection ends, so that nothing arrives late, and the next one works', async () => {
    let isMute = true;
    const { id, heard, device, act } = await connect(() => (isMute ? undefined : 'DOUT1:ON'));
    expect((await act('immobilize')).body.reason).toBe('NO_ACKNOWLEDGEMENT');
    expect((await commandsOf(id))[0]).toMatchObject({ state: 'unknown' });
    await device.closed;
    expect((await act('immobilize')).body.reason).toBe('DEVICE_OFFLINE');
    isMute = false;
    expect(await device.connect()).toBe(true);
    expect((await act('immobilize')).status).toBe(200);
    expect(heard).toHaveLength(2);
  });

  it('is unknown, with the text of an answer that the model does not define, here and in the list of commands', async () => {
    const { id, act } = await connect(() => 'DOUT1:\tpending\r\n');
    const { status, body } = await act('immobilize');
    expect([status, body.error, body.reason]).toEqual([504, 'COMMUNICATION_FAILED', 'UNKNOWN_ANSWER']);
    expect(body.message).toBe('the device answered "DOUT1: pending"; whether it acted is unknown');
    const unknown = { state: 'unknown', reason: 'UNKNOWN_ANSWER', message: 'DOUT1: pending' };
    expect((await commandsOf(id))[0]).toMatchObject(unknown);
  });

  it('fails at once for an offline device, and for what its model or its source cannot do', async () => {
    const { device, act } = await connect(() => 'DOUT1:ON');
    expect((await act('lock')).body.reason).toBe('ACTION_NOT_SUPPORTED');
    await device.close();
    await eventually(async () => expect((await act('immobilize')).body.reason).toBe('DEVICE_OFFLINE'));
    const { id } = await createVehicle(platform.db, application, { model: 'traccar' });
    const refused = await api.post('/v1/vehicle/lock', { vehicleId: id });
    expect([refused.status, refused.body.reason]).toEqual([504, 'ACTION_NOT_SUPPORTED']);
    expect((await api.get(`/v1/vehicle/actions?vehicleId=${id}`)).body.actions).toEqual([]);
  });

  it('reaches the newer of two connections', async () => {
    const first = await connect(() => 'DOUT1:ON');
    const heard: string[] = [];
    const second = new TeltonikaDevice({
      ...{ host: '127.0.0.1', port, imei: first.imei },
      answer: (text) => (heard.push(text) > 0 ? 'DOUT1:ON' : undefined),
    });
    devices.push(second);
    expect(await second.connect()).toBe(true);
    await first.device.closed;
    expect((await first.act('immobilize')).status).toBe(200);
    expect([first.heard, heard]).toEqual([[], ['setdigout 1?']]);
  });
});

describe('the connection of a Teltonika device', () => {
  it('is that of a connected device in the table of devices, and ends when the device is deleted', async () => {
    const { imei, device } = await connect(() => undefined);
    const other = await connect(() => undefined);
    const shown = async () => (await api.get(`/v1/x/devices/${imei}`)).body;
    expect(await shown()).toMatchObject({ connected: true });
    expect((await admin.delete(`/v1/x/admin/devices/${imei}`)).status).toBe(200);
    await device.closed;
    expect(await device.connect()).toBe(false);
    expect(other.device.isConnected).toBe(true);
  });
});

describe('a connection with a command in flight', () => {
  it.each([
    ['an invalid packet', (socket: Socket) => socket.write('not a packet')],
    ['a newer connection of the device', (_socket: Socket, imei: string) => openSocket(imei)],
  ])('is reset by %s, so that the command cannot arrive late', async (_reason, end) => {
    const imei = createImei();
    const { id } = await createVehicle(platform.db, application, { deviceId: imei, model: 'teltonika-outputs' });
    const socket = await openSocket(imei);
    const closed = once(socket, 'error');
    const answer = api.post('/v1/vehicle/immobilize', { vehicleId: id });
    await once(socket, 'data');
    await end(socket, imei);
    expect(await closed).toMatchObject([{ code: 'ECONNRESET' }]);
    expect((await answer).body.reason).toBe('NO_ACKNOWLEDGEMENT');
  });

  it.skipIf(!hasOpenssl)('is reset over TLS, too, if no answer arrives in time', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-tls-'));
    const { certificate, key } = createSelfSigned(directory, 'localhost');
    const tlsPort = await freePort();
    const gateway = await startTestPlatform([gatewayService, commandService], {
      ...{ MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key, TELTONIKA_TLS_PORT: String(tlsPort) },
      ACK_TIMEOUT_MS: '1500',
    });
    const imei = createImei();
    const { id } = await createVehicle(platform.db, application, { deviceId: imei, model: 'teltonika-outputs' });
    const { device, tcp, close } = await openTls(tlsPort);
    const ended = errorCodeAtEnd(tcp);
    device.write(encodeHello(imei));
    await once(device, 'data');
    const client = clientWithToken(gateway.httpUrl, application.token);
    expect((await client.post('/v1/vehicle/immobilize', { vehicleId: id })).body.reason).toBe('NO_ACKNOWLEDGEMENT');
    expect(await ended).toMatch(/ECONNRESET|EPIPE/);
    close();
    await gateway.stop();
    await rm(directory, { recursive: true });
  });
});

describe('two gateways in processes of their own', () => {
  it('carry out each command once, at the one that holds the device, without a broker', async () => {
    const shared = { QUEUE_PREFIX: `gateway-${randomUUID()}` };
    const ports = [await freePort(), await freePort()];
    const startGateway = (own: number) =>
      startTestPlatform([gatewayService], { ...shared, TELTONIKA_PORT: String(own) });
    const gateways = await Promise.all(ports.map(startGateway));
    const others = await startTestPlatform([commandService], shared);
    const imei = createImei();
    const { id } = await createVehicle(platform.db, application, { deviceId: imei, model: 'teltonika-outputs' });
    const client = clientWithToken(others.httpUrl, application.token);
    const immobilize = () => client.post('/v1/vehicle/immobilize', { vehicleId: id });
    const heard: number[] = [];
    const [first, second] = ports.map((own) => {
      const answer = () => (heard.push(own) > 0 ? 'DOUT1:ON' : undefined);
      return new TeltonikaDevice({ ...{ host: '127.0.0.1', port: own, imei, answer } });
    }) as [TeltonikaDevice, TeltonikaDevice];
    devices.push(first, second);
    expect(await first.connect()).toBe(true);
    expect(await second.connect()).toBe(true);
    await first.closed;
    expect((await immobilize()).status).toBe(200);
    expect(heard).toEqual([ports[1]]);
    await gateways[1]?.stop();
    // As a gateway that was killed leaves it.
    const redis = connectRedis(others.config.REDIS_URL, createLogger('silent'));
    await awaitRedis(redis);
    await redis.hset(presenceKey(shared.QUEUE_PREFIX), imei, 'killed 9');
    await redis.set(brokerKey(shared.QUEUE_PREFIX, 'killed'), '1', 'PX', 60_000);
    expect((await immobilize()).body.reason).toBe('PLATFORM_UNAVAILABLE');
    expect((await commandsOf(id))[0]).toMatchObject({ state: 'unknown', reason: 'PLATFORM_UNAVAILABLE' });
    expect(heard).toHaveLength(1);
    redis.disconnect();
    await others.stop();
    await gateways[0]?.stop();
  });
});
