import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createLogger } from '@odograph/runtime/logger';
import { Gauge } from '@odograph/runtime/metrics';
import { connectRedis } from '@odograph/runtime/redis';
import { afterEach, expect, inject, it } from 'vitest';
import { watchBacklog } from './backlog.ts';
import { openQueue } from './queues.ts';

const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

it('the backlog is measured again after a command to Redis that is never answered', async () => {
  const connection = { redisUrl: inject('redisUrl'), prefix: `test-${randomUUID()}` };
  const [uploads, lateUploads] = [openQueue('uploads', connection), openQueue('late-uploads', connection)];
  const redis = connectRedis(connection.redisUrl, createLogger('silent'));
  closes.push(
    () => uploads.close(),
    () => lateUploads.close(),
    () => redis.disconnect(),
  );
  await once(redis, 'ready');
  await uploads.add('uploads', { uploads: [], devices: 0, bytes: 0 });
  const count = uploads.getJobCountByTypes.bind(uploads);
  let isLost = false;
  // As after a fail-over of a cluster.
  uploads.getJobCountByTypes = (...types) => (isLost ? new Promise(() => undefined) : count(...types));
  const events = new EventEmitter();
  const gauge = <Label extends string>(name: string, label: Label) =>
    new Gauge({ name, help: 'of the test', labelNames: [label], registers: [] });
  const { backlogs, stop } = await watchBacklog({
    shards: [{ shard: 0, uploads, lateUploads }],
    redis,
    limits: { maxBacklogJobs: 0 },
    metrics: { backlogJobs: gauge('jobs', 'shard'), backlogBytes: gauge('bytes', 'server') },
    failures: { failed: () => events.emit('failed'), succeeded: () => events.emit('measured') },
  });
  closes.push(stop);
  expect(backlogs[0]?.isFull).toBe(true);
  isLost = true;
  await uploads.drain();
  await once(events, 'failed');
  isLost = false;
  await once(events, 'measured');
  expect(backlogs[0]?.isFull).toBe(false);
}, 20_000);
