import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import { allAcknowledgements, deviceTopic } from '@odograph/contracts/topics';
import { openQueue, type TypedQueue } from '@odograph/queue/queues';
import { connectDevice } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectCommandService } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';
import { maximumAcknowledgementBytes } from './acknowledgements.ts';

let platform: TestPlatform;
let queue: TypedQueue<'acknowledgements'>;
beforeAll(async () => {
  platform = await startTestPlatform([brokerService]);
  const { REDIS_URL, QUEUE_PREFIX } = platform.config;
  queue = openQueue('acknowledgements', { redisUrl: REDIS_URL, prefix: QUEUE_PREFIX });
});
afterAll(async () => {
  await queue.close();
  await platform.stop();
});

async function queued(device: string): Promise<QueuedAcknowledgement[]> {
  const jobs = await queue.getJobs(['wait'], 0, -1, true);
  return jobs.map(({ data }) => data).filter(({ deviceId }) => deviceId === device);
}

it('has an acknowledgement in the queue, as it was sent, when its PUBACK arrives', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  await device.acknowledge({ id: 'c-1', ok: true, status: 'CLOSED' });
  const [acknowledgement] = await queued(identity.deviceId);
  expect(acknowledgement?.text).toBe('{"id":"c-1","ok":true,"status":"CLOSED"}');
  await device.close();
});

it('hands an acknowledgement to the command service at once, and no telemetry', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const commands = await connectCommandService(platform.mqttUrl);
  const heard: string[] = [];
  commands.client.on('message', (topic, payload, { qos }) => heard.push(`${topic} ${payload.toString()} ${qos}`));
  await commands.client.subscribeAsync(allAcknowledgements, { qos: 1 });
  await device.upload({ timestamp: 1 });
  await device.acknowledge({ id: 'c-1', ok: true });
  await eventually(async () =>
    expect(heard).toEqual([`${deviceTopic(identity.deviceId, 'acks')} {"id":"c-1","ok":true} 0`]),
  );
  await commands.close();
  await device.close();
});

/** A command service that answers every acknowledgement with what a test wants it to say. */
async function connectAnswering(recorded: (topic: string, text: string) => readonly [topic: string, text: string]) {
  const service = await connectCommandService(platform.mqttUrl);
  service.client.on('message', (topic, payload) => {
    service.client.publish(...recorded(topic, payload.toString()));
  });
  await service.client.subscribeAsync(allAcknowledgements);
  return service;
}

it('gives the PUBACK without the queue once the command service has recorded the acknowledgement', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const order: string[] = [];
  const service = await connectAnswering((_topic, text) => {
    order.push('recorded');
    return [deviceTopic(identity.deviceId, 'recorded'), text];
  });
  // What takes longer than the broker waits is queued, as on a machine that is busy just then.
  await eventually(async () => {
    const before = await queued(identity.deviceId);
    order.length = 0;
    await device.acknowledge({ id: 'c-1', ok: true });
    order.push('PUBACK');
    expect(order).toEqual(['recorded', 'PUBACK']);
    expect(await queued(identity.deviceId)).toEqual(before);
  });
  await service.close();
  await device.close();
});

it('queues an acknowledgement when the command service has recorded only another', async () => {
  const identity = await createDevice(platform.db);
  const other = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  for (const [deviceId, said] of [
    [other.deviceId, '{"id":"c-1","ok":true}'],
    [identity.deviceId, '{"id":"c-2","ok":true}'],
  ] as const) {
    const service = await connectAnswering(() => [deviceTopic(deviceId, 'recorded'), said]);
    await device.acknowledge({ id: 'c-1', ok: true });
    await service.close();
  }
  expect((await queued(identity.deviceId)).map(({ text }) => text)).toEqual([
    '{"id":"c-1","ok":true}',
    '{"id":"c-1","ok":true}',
  ]);
  await device.close();
});

it('drops what can be no acknowledgement, and keeps the connection', async () => {
  const identity = await createDevice(platform.db);
  const device = await connectDevice(platform.mqttUrl, identity);
  const topic = deviceTopic(identity.deviceId, 'acks');
  await device.client.publishAsync(topic, 'x'.repeat(maximumAcknowledgementBytes + 1), { qos: 1 });
  await device.client.publishAsync(topic, Buffer.from([0xff, 0xfe]), { qos: 1 });
  await device.client.publishAsync(topic, 'y'.repeat(maximumAcknowledgementBytes), { qos: 1 });
  expect((await queued(identity.deviceId)).map(({ text }) => text[0])).toEqual(['y']);
  await device.close();
});
