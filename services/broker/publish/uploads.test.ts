import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import { deviceTopic } from '@odograph/contracts/topics';
import { openQueue, type TypedQueue } from '@odograph/queue/queues';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { openUploadQueues } from '@odograph/testkit/queued-uploads';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterAll, expect, it } from 'vitest';
import { watchPubacks } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { maximumAcknowledgementBytes } from './accept-publish.ts';

const platform = await usePlatform([brokerService]);
const queues = openUploadQueues(platform.config);
afterAll(() => queues.close());

async function uploadsOf(device: string) {
  return (await queues.uploads()).filter(({ deviceId }) => deviceId === device);
}

it('sends the PUBACK of an upload once the queue has it, byte for byte', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const before = Date.now();
  for (const payload of ['{"timestamp":9000000000,"é":"\u0000🚗"}', '', 'no json']) {
    await device.upload(payload);
    const upload = (await uploadsOf(identity.deviceId)).at(-1);
    expect(upload?.text).toBe(payload);
    expect(upload?.receivedAtMs).toBeGreaterThanOrEqual(before);
  }
  const binary = Buffer.from([0xff, 0x00, 0xfe, 0xc0, 0x80]);
  await device.upload(binary);
  expect((await uploadsOf(identity.deviceId)).at(-1)?.base64).toBe(binary.toString('base64'));
  await device.close();
});

it('queues what OwnTracks publishes below the topic of its user as uploads of that format', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const { deviceId } = identity;
  const published: [topic: string, payload: string][] = [
    [`owntracks/${deviceId}/phone`, '{"_type":"location","tst":1,"lat":1,"lon":2}'],
    [`owntracks/${deviceId}/phone/event`, '{"_type":"transition","tst":2}'],
    [`owntracks/${deviceId}/phone`, ''],
  ];
  for (const [topic, payload] of published) await device.client.publishAsync(topic, payload, { qos: 1, retain: true });
  const uploads = await uploadsOf(deviceId);
  expect(uploads.map(({ format }) => format)).toEqual(published.map(() => 'owntracks'));
  expect(uploads.map(({ text = 'none' }) => text).sort()).toEqual(
    published.map(([, payload]) => `[${payload}]`).sort(),
  );
  await device.close();
});

it('sends PUBACKs in the order of the uploads of each device, while many send at once', async () => {
  const identities = await Promise.all(Array.from({ length: 10 }, () => createDevice(platform.db)));
  const devices = await Promise.all(identities.map((identity) => connectDevice(platform.mqttUrl, identity)));
  const watches = devices.map(watchPubacks);
  await Promise.all(
    devices.flatMap((device, index) =>
      Array.from({ length: 200 }, (_, number) =>
        // An acknowledgement is queued alone and at once, and must not overtake uploads.
        number % 7 === 3
          ? device.acknowledge({ id: `${index}-${number}`, ok: true })
          : device.upload({ timestamp: number, sequence: number }),
      ),
    ),
  );
  for (const { sent, received } of watches) {
    expect(received).toHaveLength(200);
    expect(received).toEqual(sent);
  }
  for (const { deviceId } of identities) {
    const sequences = (await uploadsOf(deviceId)).map(({ text }) => JSON.parse(text ?? '').sequence);
    expect(sequences).toEqual(Array.from({ length: 200 }, (_, number) => number).filter((number) => number % 7 !== 3));
  }
  await Promise.all(devices.map((device) => device.close()));
});

it('batches the uploads of many devices into few jobs of at most 500 uploads', async () => {
  const identities = await Promise.all(Array.from({ length: 20 }, () => createDevice(platform.db)));
  const devices = await Promise.all(identities.map((identity) => connectDevice(platform.mqttUrl, identity)));
  const before = new Set((await queues.jobs()).map(({ id }) => id));
  await Promise.all(devices.flatMap((device) => Array.from({ length: 50 }, () => device.upload({ timestamp: 1 }))));
  const jobs = (await queues.jobs()).filter(({ id }) => !before.has(id));
  expect(jobs.reduce((sum, { data }) => sum + data.uploads.length, 0)).toBe(1000);
  expect(Math.max(...jobs.map(({ data }) => data.uploads.length))).toBeLessThanOrEqual(500);
  expect(jobs.length).toBeLessThan(250);
  for (const { data } of jobs) {
    expect(data.devices).toBe(new Set(data.uploads.map(({ deviceId }) => deviceId)).size);
    expect(data.bytes).toBe(data.uploads.length * '{"timestamp":1}'.length);
  }
  await Promise.all(devices.map((device) => device.close()));
});

it('puts at most 1 MiB into a job', async () => {
  const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  const before = new Set((await queues.jobs()).map(({ id }) => id));
  await Promise.all(Array.from({ length: 12 }, () => device.upload('x'.repeat(250_000))));
  const jobs = (await queues.jobs()).filter(({ id }) => !before.has(id));
  expect(jobs.reduce((sum, { data }) => sum + data.uploads.length, 0)).toBe(12);
  expect(Math.max(...jobs.map(({ data }) => data.bytes))).toBeLessThanOrEqual(1024 ** 2);
  await device.close();
});

it('accepts QoS 0 and QoS 2, and clears the retain flag', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const topic = deviceTopic(identity.deviceId, 'telemetry');
  await device.client.publishAsync(topic, '{"timestamp":0}', { qos: 0, retain: true });
  await device.client.publishAsync(topic, '{"timestamp":2}', { qos: 2, retain: true });
  await device.client.publishAsync(topic, '{"timestamp":1}', { qos: 1, retain: true });
  expect((await uploadsOf(identity.deviceId)).map(({ text }) => JSON.parse(text ?? '').timestamp)).toEqual([0, 2, 1]);
  await device.close();
});

it('queues live uploads apart from those recorded while a device was offline', async () => {
  const { deviceId, secret } = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, { deviceId, secret });
  const live = { timestamp: Math.floor(Date.now() / 1000) };
  const late = { timestamp: live.timestamp - 3600 };
  for (const reading of [late, live]) await device.upload(reading);
  const ownIn = async (queue: TypedQueue<'uploads' | 'late-uploads'>) => {
    const jobs = await queue.getJobs(['wait']);
    const uploads = jobs.flatMap(({ data }) => data.uploads).filter((upload) => upload.deviceId === deviceId);
    return uploads.map(({ text }) => JSON.parse(text ?? ''));
  };
  expect([await ownIn(queues.live), await ownIn(queues.late)]).toEqual([[live], [late]]);
  await device.close();
});

it('counts accepted uploads, connected devices and held bytes', async () => {
  const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
  const count = async (name: string) => {
    const values = (await platform.metrics.getSingleMetric(`odograph_broker_${name}`)?.get())?.values ?? [];
    return values.find(({ labels }) => Object.keys(labels).length === 0)?.value;
  };
  const before = (await count('accepted_uploads_total')) ?? 0;
  await device.upload({ timestamp: 1 });
  expect(await count('accepted_uploads_total')).toBe(before + 1);
  expect(await count('connected_devices')).toBe(1);
  expect(await count('held_bytes')).toBe(0);
  await device.close();
});

const { REDIS_URL, QUEUE_PREFIX } = platform.config;
const queue = openQueue('acknowledgements', { redisUrl: REDIS_URL, prefix: QUEUE_PREFIX });
afterAll(() => queue.close());

async function queued(device: string): Promise<QueuedAcknowledgement[]> {
  const jobs = await queue.getJobs(['wait'], 0, -1, true);
  return jobs.map(({ data }) => data).filter(({ deviceId }) => deviceId === device);
}

it('sends the PUBACK of an acknowledgement once the queue has it, unchanged', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  await device.acknowledge({ id: 'c-1', ok: true, status: 'CLOSED' });
  const [acknowledgement] = await queued(identity.deviceId);
  expect(acknowledgement?.text).toBe('{"id":"c-1","ok":true,"status":"CLOSED"}');
  await device.close();
});

it('drops an acknowledgement that is too long or not UTF-8, and keeps the connection', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const topic = deviceTopic(identity.deviceId, 'acks');
  await device.client.publishAsync(topic, 'x'.repeat(maximumAcknowledgementBytes + 1), { qos: 1 });
  await device.client.publishAsync(topic, Buffer.from([0xff, 0xfe]), { qos: 1 });
  await device.client.publishAsync(topic, 'y'.repeat(maximumAcknowledgementBytes), { qos: 1 });
  expect((await queued(identity.deviceId)).map(({ text }) => text[0])).toEqual(['y']);
  await device.close();
});
