import type { CommandMessage } from '@odograph/contracts/commands';
import { deviceTopic } from '@odograph/contracts/topics';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { openUploadQueues } from '@odograph/testkit/queued-uploads';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterAll, expect, it } from 'vitest';
import { closed, connectPacket, openMessenger, openSocket, packet } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';

const platform = await usePlatform([brokerService]);
const queues = openUploadQueues(platform.config);
const messenger = await openMessenger(platform.config);
afterAll(async () => {
  messenger.close();
  await queues.close();
});

const inAMinute = () => Math.floor(Date.now() / 1000) + 60;
const lock = (id: string, expiresAt = inAMinute()): CommandMessage => ({ id, action: 'LOCK', expiresAt });
const send = (deviceId: string, command: CommandMessage) => messenger.send({ kind: 'command', deviceId, command });
const keyList = (version: number) => JSON.stringify({ version });

/** Collects everything that a device receives. */
function collect({ client }: DeviceConnection): { topic: string; text: string; retain: boolean }[] {
  const received: { topic: string; text: string; retain: boolean }[] = [];
  client.on('message', (topic, payload, { retain }) => received.push({ topic, text: payload.toString(), retain }));
  return received;
}

it.each([
  ['the telemetry of another device', (other: string) => deviceTopic(other, 'telemetry')],
  ['the acknowledgements of another device', (other: string) => deviceTopic(other, 'acks')],
  ['the commands of another device', (other: string) => deviceTopic(other, 'commands')],
  ['the OwnTracks topic of another user', (other: string) => `owntracks/${other}/phone`],
  ['the OwnTracks topic of all users', () => 'owntracks/phone'],
  ['$SYS', () => '$SYS/broker/new/clients'],
  ['any topic', () => 'somewhere'],
])('closes the connection of a device that publishes to %s', async (_what, topicOf) => {
  const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  const other = await createDevice(platform.db);
  device.client.publish(topicOf(other.deviceId), '{"timestamp":1}', { qos: 1 });
  await closed(device);
  expect((await queues.uploads()).filter(({ deviceId }) => deviceId === other.deviceId)).toEqual([]);
});

it('closes the connection of a device that publishes its own commands, key lists or rejects', async () => {
  for (const channel of ['commands', 'keys', 'rejects'] as const) {
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    device.client.publish(deviceTopic(identity.deviceId, channel), JSON.stringify(lock('own')), { qos: 0 });
    await closed(device);
    expect(device.client.connected).toBe(false);
  }
});

it('refuses subscriptions other than to own commands, key lists and rejects with 128, and keeps the connection', async () => {
  const identity = await createDevice(platform.db);
  const other = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const refused = [
    deviceTopic(other.deviceId, 'commands'),
    deviceTopic(other.deviceId, 'rejects'),
    deviceTopic('+', 'rejects'),
    deviceTopic(identity.deviceId, 'telemetry'),
    deviceTopic('+', 'commands'),
    deviceTopic('+', 'acks'),
    `v1/devices/${identity.deviceId}/#`,
    `$share/group/${deviceTopic(identity.deviceId, 'commands')}`,
    '$SYS/#',
    '#',
  ];
  const granted = await Promise.all(refused.map((topic) => device.client.subscribeAsync(topic).catch(() => 'refused')));
  expect(granted).toEqual(refused.map(() => 'refused'));
  const own = (['commands', 'keys', 'rejects'] as const).map((channel) => deviceTopic(identity.deviceId, channel));
  expect((await device.client.subscribeAsync(own, { qos: 1 })).map(({ qos }) => qos)).toEqual([1, 1, 1]);

  const received = collect(device);
  expect(await send(other.deviceId, lock('foreign'))).toBe('offline');
  expect(await send(identity.deviceId, lock('mine'))).toBe('sent');
  await eventually(async () => expect(received.length).toBeGreaterThan(0));
  expect(received.map(({ text }) => JSON.parse(text).id)).toEqual(['mine']);
  await device.close();
});

it('sends a command at QoS 0, not retained, and only to a live session', async () => {
  const identity = await createDevice(platform.db);
  const topic = deviceTopic(identity.deviceId, 'commands');
  expect(await send(identity.deviceId, lock('before'))).toBe('offline');
  const device = await connectDevice(platform.mqttUrl, identity);
  const qualities: number[] = [];
  device.client.on('message', (_topic, _payload, { qos }) => qualities.push(qos));
  const received = collect(device);
  await device.client.subscribeAsync(topic, { qos: 2 });
  await send(identity.deviceId, lock('live'));
  await eventually(async () => expect(received).toHaveLength(1));
  expect([JSON.parse(received[0]?.text ?? '').id, received[0]?.retain, qualities[0]]).toEqual(['live', false, 0]);
  await device.close();
});

it('never forwards a command that is expired or without an end', async () => {
  const identity = await createDevice(platform.db);
  const topic = deviceTopic(identity.deviceId, 'commands');
  const device = await connectDevice(platform.mqttUrl, identity);
  const received = collect(device);
  await device.client.subscribeAsync(topic);
  await send(identity.deviceId, lock('late', Date.now() / 1000 - 0.001));
  await send(identity.deviceId, { id: 'endless', action: 'LOCK' } as CommandMessage);
  await send(identity.deviceId, lock('live'));
  await eventually(async () => expect(received.length).toBeGreaterThan(0));
  expect(received.map(({ text }) => JSON.parse(text).id)).toEqual(['live']);
  await device.close();
});

it('stores no command for a persistent session, and resumes its subscription', async () => {
  const identity = await createDevice(platform.db);
  const other = await createDevice(platform.db);
  const own = deviceTopic(identity.deviceId, 'commands');
  const foreign = deviceTopic(other.deviceId, 'commands');
  const first = await connectDevice(platform.mqttUrl, identity, { clean: false });
  await first.client.subscribeAsync({ [own]: { qos: 1 }, [foreign]: { qos: 1 } }).catch(() => undefined);
  await first.close('cut');

  await eventually(async () => expect(await send(identity.deviceId, lock('while away'))).toBe('offline'));
  await messenger.sendKeyList(other.deviceId, keyList(1));

  const received: string[] = [];
  const second = await connectDevice(platform.mqttUrl, identity, { clean: false });
  second.client.on('message', (_topic, payload) => received.push(payload.toString()));
  await send(identity.deviceId, lock('live'));
  await eventually(async () => expect(received.length).toBeGreaterThan(0));
  expect(received.map((text) => JSON.parse(text).id)).toEqual(['live']);
  await second.close();
});

it('keeps the newest key list for a device that subscribes later', async () => {
  const identity = await createDevice(platform.db);
  const topic = deviceTopic(identity.deviceId, 'keys');
  await messenger.sendKeyList(identity.deviceId, keyList(1));
  await messenger.sendKeyList(identity.deviceId, keyList(2));
  const device = await connectDevice(platform.mqttUrl, identity);
  const received = collect(device);
  await device.client.subscribeAsync(topic, { qos: 1 });
  await eventually(async () => expect(received).toHaveLength(1));
  expect(received[0]).toEqual({ topic, text: keyList(2), retain: true });
  await device.close();
});

it('sends the newest key list to a persistent session that resumes its subscription', async () => {
  const identity = await createDevice(platform.db);
  const first = await connectDevice(platform.mqttUrl, identity, { clean: false });
  await first.client.subscribeAsync(deviceTopic(identity.deviceId, 'keys'), { qos: 1 });
  await first.close('cut');
  await messenger.sendKeyList(identity.deviceId, keyList(3));
  const second = await connectDevice(platform.mqttUrl, identity, { clean: false });
  const received = collect(second);
  await eventually(async () => expect(received.map(({ text }) => text)).toEqual([keyList(3)]));
  await second.close();
});

it('sends each of many key lists that arrive together with commands', async () => {
  const identity = await createDevice(platform.db);
  const { deviceId } = identity;
  const device = await connectDevice(platform.mqttUrl, identity);
  const received = collect(device);
  await device.client.subscribeAsync([deviceTopic(deviceId, 'keys'), deviceTopic(deviceId, 'commands')], { qos: 1 });
  const versions = Array.from({ length: 20 }, (_, index) => index + 1);
  await Promise.all(
    versions.flatMap((version) => [
      messenger.send({ kind: 'key-list', deviceId, list: keyList(version) }),
      send(deviceId, lock(`command ${version}`)),
    ]),
  );
  await eventually(async () => expect(received.map(({ text }) => JSON.parse(text).id)).toContain('command 20'));
  const listed = received.filter(({ topic }) => topic.endsWith('/keys')).map(({ text }) => JSON.parse(text).version);
  expect(listed).toEqual(versions);
  await device.close();
});

it('stores no key list for a persistent session that acknowledges none', async () => {
  const identity = await createDevice(platform.db);
  const { deviceId, secret } = identity;
  const topic = Buffer.from(deviceTopic(deviceId, 'keys'));
  const socket = await openSocket(platform.mqttUrl);
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1');
  });
  socket.write(connectPacket({ clientId: deviceId, username: deviceId, password: secret, clean: false }));
  socket.write(packet(0x82, Buffer.from([0, 1, 0, topic.length]), topic, Buffer.from([1])));
  for (const version of [1, 2, 3]) {
    await messenger.sendKeyList(deviceId, keyList(version));
    await eventually(async () => expect(heard).toContain(keyList(version)));
  }
  socket.destroy();

  const second = await connectDevice(platform.mqttUrl, identity, { clean: false });
  const received = collect(second);
  await eventually(async () => expect(received.at(-1)?.text).toBe(keyList(3)));
  await messenger.sendKeyList(deviceId, keyList(4));
  await eventually(async () => expect(received.at(-1)?.text).toBe(keyList(4)));
  expect(received.map(({ text }) => text)).toEqual([keyList(3), keyList(4)]);
  await second.close();
});

it('drops the will of a device, for its own topic and for a foreign one', async () => {
  const { deviceId, secret } = await createDevice(platform.db);
  const victim = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, victim);
  const received = collect(device);
  await device.client.subscribeAsync(deviceTopic(victim.deviceId, 'commands'));
  for (const topic of [deviceTopic(deviceId, 'telemetry'), deviceTopic(victim.deviceId, 'commands')]) {
    const socket = await openSocket(platform.mqttUrl);
    const will = { topic, payload: JSON.stringify(lock('will')) };
    socket.write(connectPacket({ clientId: deviceId, username: deviceId, password: secret, will }));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
  }
  await send(victim.deviceId, lock('after'));
  await eventually(async () => expect(received.length).toBeGreaterThan(0));
  expect(received.map(({ text }) => JSON.parse(text).id)).toEqual(['after']);
  await device.upload({ timestamp: 1 });
  expect((await queues.uploads()).filter((upload) => upload.deviceId === deviceId)).toEqual([]);
  await device.close();
});
