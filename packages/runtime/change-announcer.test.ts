import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changesKey, readChanges } from '@odograph/contracts/events';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import { spawnRedis } from '@odograph/testkit/redis-server';
import { expect, inject, it, onTestFinished } from 'vitest';
import { ChangeAnnouncer } from './change-announcer.ts';
import { createLogger } from './logger.ts';
import { Registry } from './metrics.ts';
import { connectRedis, type Redis } from './redis.ts';

const logger = createLogger('silent');

function createAnnouncer(redis: Redis) {
  const prefix = `test-${randomUUID()}`;
  const metrics = new Registry();
  const host = { config: { QUEUE_PREFIX: prefix }, logger, metrics, onStop: () => undefined };
  const read = async () => {
    const entries = await redis.xrange(changesKey(prefix), '-', '+');
    return entries.map(([, fields]) => readChanges(fields));
  };
  return { announcer: new ChangeAnnouncer(redis, host), metrics, read };
}

it('announces what Redis refused once it accepts it, and counts the failure', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-test-'));
  const port = await freePort();
  const redis = connectRedis(`redis://127.0.0.1:${port}`, logger);
  onTestFinished(() => redis.disconnect());
  const { announcer, metrics, read } = createAnnouncer(redis);
  await announcer.announce({ vehicleIds: [1, 2] });
  await announcer.announce({ vehicleIds: [2, 3], commandIds: ['a'] });
  expect(await metrics.metrics()).toContain('odograph_change_announcement_failures_total 2');
  const server = await spawnRedis(directory, port);
  onTestFinished(async () => {
    await server.end('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  });
  await eventually(async () => expect(await read()).toHaveLength(2), 20_000);
  expect(await read()).toEqual([
    { vehicleIds: [1, 2, 3], commandIds: [], alarmIds: [] },
    { vehicleIds: [], commandIds: ['a'], alarmIds: [] },
  ]);
});

it('joins what is announced soon, splits long lists, and adds nothing for empty ones', async () => {
  const redis = connectRedis(inject('redisUrl'), logger);
  const { announcer, read } = createAnnouncer(redis);
  await eventually(async () => expect(redis.status).toBe('ready'));
  await announcer.announce({});
  announcer.announceSoon({ vehicleIds: [7], commandIds: ['a'] });
  announcer.announceSoon({ vehicleIds: [7] });
  await eventually(async () => expect(await read()).toHaveLength(2));
  await announcer.announce({ vehicleIds: Array.from({ length: 2500 }, (_, n) => n) });
  expect((await read()).map(({ vehicleIds }) => vehicleIds.length)).toEqual([1, 0, 1000, 1000, 500]);
  redis.disconnect();
});
