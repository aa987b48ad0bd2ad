import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { usePlatform } from '@odograph/testkit/scopes';
import { afterAll, expect, it, vi } from 'vitest';
import { openCommandEvents } from './command-events.ts';

const { config } = await usePlatform([]);
const logger = createLogger('silent');
const redis = connectRedis(config.REDIS_URL, logger);
const replicas = [0, 1].map(() => openCommandEvents(redis, { config, logger }, { announceSoon: () => undefined }));
afterAll(() => {
  for (const events of replicas) events.close();
  redis.disconnect();
});

const warned = vi.fn<(warning: Error) => void>();
process.once('warning', warned);

it('wakes the requests of an ended command and of the next one of its vehicle, at every replica', async () => {
  const subscribers = async () => (await redis.pubsub('NUMSUB', `${config.QUEUE_PREFIX}:commands`))[1];
  await eventually(async () => expect(await subscribers()).toBe(replicas.length));
  const watches = replicas.map((events) => ({
    ended: events.watch(1, 'first'),
    next: events.watch(1, 'second'),
    later: events.watch(1, 'third'),
  }));
  const end = { id: 'first', vehicleId: 1, state: 'acknowledged', nextId: 'second' } as const;
  replicas[0]?.announce([end]);
  for (const { ended, next, later } of watches) {
    expect([await ended.changed(20_000), await next.changed(20_000)]).toEqual([true, true]);
    expect([ended.end(), next.end()]).toEqual([end, undefined]);
    expect([await ended.changed(0), await later.changed(0)]).toEqual([false, false]);
  }
  expect(warned).not.toHaveBeenCalled();
});
