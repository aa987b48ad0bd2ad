import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { hasRedisServer } from '@odograph/testkit/programs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Load } from './parts/load.fixture.ts';
import { scale } from './parts/scale.fixture.ts';
import { openTestbed, report, type Testbed } from './parts/testbed.fixture.ts';

const timeoutMs = 400_000;
/** Allowed growth of the broker while devices retry against a full backlog: far less than they would upload. */
const growthBytes = 150 * 1024 ** 2;
let testbed: Testbed;

/** Resident memory of a process in bytes; 0 where the system does not report it. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Resolves once the broker reports a full backlog and has acknowledged nothing for two seconds. */
async function untilHeld(load: Load): Promise<void> {
  const health = async () => (await fetch(`${testbed.broker().httpUrl}/health`)).text();
  await eventually(async () => {
    expect(await health()).toContain('backlog exceeds its limit');
    const before = load.acknowledged();
    await delay(2000);
    expect(load.acknowledged()).toBe(before);
  }, 120_000);
}

/** Fills Redis until it uses this many bytes. */
async function fillUntil(redis: Redis, bytes: number): Promise<void> {
  const used = async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  while ((await used()) < bytes) await redis.rpush('filler', Buffer.alloc(64 * 1024));
}

describe.skipIf(!hasRedisServer)('a backlog near the memory of Redis', () => {
  afterEach(() => testbed.close());

  it(
    'holds uploads before Redis is full, and drains to the last acknowledged upload when there is room',
    async () => {
      testbed = await openTestbed();
      const redis = connectRedis(`redis://127.0.0.1:${testbed.lines['broker-Redis'].port}`, createLogger('silent'));
      await once(redis, 'ready');
      const load = await testbed.startLoad({ pauseMs: 1 });
      await load.progress(2);
      await redis.config('SET', 'maxmemory', String(8 * 1024 ** 2));
      testbed.lines['ingest-database'].cut();
      await fillUntil(redis, 5.5 * 1024 ** 2);
      const before = await residentBytes(testbed.broker().process.pid);
      await untilHeld(load);
      // Redis may free memory meanwhile, and the broker then accepts some more.
      await delay(scale.awayMs);
      const held = load.acknowledged();
      const growth = (await residentBytes(testbed.broker().process.pid)) - before;
      expect(growth).toBeLessThan(growthBytes);
      expect(await redis.info('errorstats')).not.toContain('OOM');
      await redis.del('filler');
      testbed.lines['ingest-database'].mend();
      await load.progress(3);
      const stored = await load.finish();
      expect(stored).toBeGreaterThan(held);
      expect(await redis.info('errorstats')).not.toContain('OOM');
      const brokerGrewByMiB = Math.round(growth / 1024 ** 2);
      await report('backlog at the memory of Redis', { heldMs: scale.awayMs, brokerGrewByMiB, stored });
      redis.disconnect();
    },
    timeoutMs,
  );
});
