import { EventEmitter, once } from 'node:events';
import type { UploadBatch } from '@odograph/contracts/queues';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterAll, expect, it } from 'vitest';
import { createLanes } from './lanes.ts';
import { openLateQueues } from './late-queue.ts';

const { config } = await usePlatform([]);
const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
const closings: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closings.reverse()) await close();
});

const jobOf = (text: string): UploadBatch => ({
  uploads: [{ deviceId: 'device-1', receivedAtMs: Date.now(), text }],
  devices: 1,
  bytes: text.length,
});

it('a live upload that is moved to the late queue is stored before the late uploads that wait', async () => {
  const queue = openQueue('late-uploads', connection);
  closings.push(() => queue.close());
  const queueLate = openLateQueues({ config, onStop: (_name, close) => void closings.push(close) });
  for (const name of ['late 2', 'late 3']) await queue.add('late-uploads', jobOf(name), { jobId: name });

  const events = new EventEmitter();
  const lanes = createLanes(async (_jobs, uploads) => {
    if (uploads.length > 0) {
      events.emit('late begun');
      await once(events, 'live moved');
    }
    return { announced: Promise.resolve(), postponed: [] };
  }, queueLate);
  const begun = once(events, 'late begun');
  const storing = lanes.late(jobOf('late 1'));
  await begun;
  await (await lanes.live(jobOf('live'))).announced;
  events.emit('live moved');
  await storing;

  const taken: (string | undefined)[] = [];
  const worker = openWorker({
    ...{ ...connection, name: 'late-uploads', concurrency: 1 },
    async process({ data }) {
      taken.push(...data.uploads.map(({ text }) => text));
      if (taken.length === 3) events.emit('all taken');
    },
    onFailure: (error) => events.emit('error', error),
  });
  closings.push(() => worker.close());
  await once(events, 'all taken');
  expect(taken).toEqual(['live', 'late 2', 'late 3']);
});
