import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { deviceTopic } from '@odograph/contracts/topics';
import { createLogger } from '@odograph/runtime/logger';
import { DeviceThrottle } from '@odograph/sessions/throttle';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform } from '@odograph/testkit/test-platform';
import { expect, it } from 'vitest';
import { connectPacket, openSocket } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { DeviceBroker } from './device-broker.ts';
import { createDeviceSession, type Sessions } from './session-registry.ts';

async function listen(broker: DeviceBroker) {
  await broker.listen();
  const server = createServer((socket) => void broker.handle(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it('keeps the newer of two connections when the older one ends', async () => {
  const broker = new DeviceBroker({
    sessions: new WeakMap(),
    readKeyLists: async () => [],
    onRefusedSubscription: () => undefined,
    logger: createLogger('silent'),
  });
  const { server, url } = await listen(broker);
  const identity = { deviceId: 'd-1', secret: 'any' };
  await connectDevice(url, identity);
  const older = broker.clients['d-1'];
  await connectDevice(url, identity);
  const newer = broker.clients['d-1'];
  if (!older || !newer) throw new Error('two connections');
  // As aedes does at the end of a close that was in progress when the client id was taken over.
  broker.unregisterClient(older);
  expect(broker.clients['d-1']).toBe(newer);
  broker.unregisterClient(newer);
  expect(broker.clients['d-1']).toBeUndefined();
  server.close();
  broker.close();
});

it('sends a command only once if it arrives while the device changes its subscription', async () => {
  const sessions: Sessions = new WeakMap();
  const broker = new DeviceBroker({
    sessions,
    authenticate(client, _userName, _password, answer) {
      const throttle = new DeviceThrottle({ uploadsPerSecond: 50, bytesPerSecond: 1e6 }, performance.now());
      const identity = { deviceId: client.id, credentials: [], replaces: undefined, throttle };
      sessions.set(client, createDeviceSession(client, identity));
      answer(null, true);
    },
    readKeyLists: async () => [],
    onRefusedSubscription: () => undefined,
    logger: createLogger('silent'),
  });
  const { server, url } = await listen(broker);
  const device = await connectDevice(url, { deviceId: 'd-1', secret: 'any' });
  const received: string[] = [];
  device.client.on('message', (_topic, payload) => received.push(JSON.parse(payload.toString()).id));
  const topic = deviceTopic('d-1', 'commands');
  await device.client.subscribeAsync(topic, { qos: 0 });
  const client = broker.clients['d-1'];
  const session = client && sessions.get(client);
  if (!session) throw new Error('no session');
  const send = (id: string) => broker.send(session, 'commands', { id, expiresAt: Date.now() / 1000 + 60 });
  const subscribe = broker.subscribe.bind(broker);
  broker.subscribe = (...parameters) => {
    subscribe(...parameters);
    send('between');
  };
  await device.client.subscribeAsync(topic, { qos: 1 });
  send('after');
  await eventually(async () => expect(received).toContain('after'));
  expect(received).toEqual(['between', 'after']);
  await device.close();
  server.close();
  broker.close();
});

it('stores no refused subscription, even when one packet requests an own one too', async () => {
  const platform = await startTestPlatform([brokerService]);
  const [identity, other] = await Promise.all([createDevice(platform.db), createDevice(platform.db)]);
  const own = deviceTopic(identity.deviceId, 'commands');
  const foreign = deviceTopic(other.deviceId, 'commands');
  const device = await connectDevice(platform.mqttUrl, identity, { clean: false });
  await device.client.subscribeAsync({ [own]: { qos: 1 }, [foreign]: { qos: 1 } }).catch(() => undefined);
  await device.client.unsubscribeAsync(own);
  await device.close();

  // With nothing stored there is no session to resume.
  const { deviceId, secret } = identity;
  const socket = await openSocket(platform.mqttUrl);
  socket.write(connectPacket({ clientId: deviceId, username: deviceId, password: secret, clean: false }));
  const [connack] = (await once(socket, 'data')) as [Buffer];
  expect([...connack]).toEqual([0x20, 2, 0, 0]);
  socket.destroy();
  await platform.stop();
});
