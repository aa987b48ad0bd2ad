import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import { deviceTopic } from '@odograph/contracts/topics';
import { openQueue } from '@odograph/queue/queues';
import { connectDevice } from '@odograph/simulator/device-connection';
import { createDevice } from '@odograph/testkit/fixtures';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterAll, expect, it } from 'vitest';
import { brokerService } from '../service.ts';
import { maximumAcknowledgementBytes } from './accept-publish.ts';

const platform = await usePlatform([brokerService]);
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
