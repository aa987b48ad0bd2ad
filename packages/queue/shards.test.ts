import { randomUUID } from 'node:crypto';
import { createLogger } from '@odograph/runtime/logger';
import { Counter, Histogram, Registry } from '@odograph/runtime/metrics';
import { connectRedis } from '@odograph/runtime/redis';
import { eventually } from '@odograph/testkit/eventually';
import { freePort } from '@odograph/testkit/free-port';
import fc from 'fast-check';
import { afterEach, expect, inject, it, vi } from 'vitest';
import { type IntakeShard, lateLane, liveLane, type ReceivedUpload, UploadIntake } from './intake.ts';
import { openDurableQueue } from './queues.ts';
import {
  countUploadJobs,
  findRetiredShards,
  HeldByLane,
  listUploadShards,
  openShardQueues,
  shardOf,
} from './shards.ts';

const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

const settingsOf = (shards: number) => ({
  REDIS_URL: inject('redisUrl'),
  QUEUE_PREFIX: `test-${randomUUID()}`,
  UPLOAD_SHARDS: shards,
});

type LiveAdd = IntakeShard['add']['uploads'];

/** Opens an intake into the queues of the settings. @param change of the function that adds jobs of live uploads */
function openIntake(settings: ReturnType<typeof settingsOf>, change = (add: LiveAdd): LiveAdd => add) {
  const registers = [new Registry()];
  const open = { isFull: false, isLateFull: false, isMemoryFull: false, fault: undefined };
  const shards = listUploadShards(settings).map((shard): IntakeShard => {
    const durability = { REDIS_IS_DURABLE: true, REDIS_REPLICAS: 0 };
    const live = openDurableQueue('uploads', shard, durability);
    const late = openDurableQueue('late-uploads', shard, durability);
    closes.push(live.close, late.close);
    return { add: { uploads: change(live.add), 'late-uploads': late.add }, backlog: open };
  });
  const stored: ReceivedUpload[] = [];
  const intake = new UploadIntake({
    shards,
    logger: createLogger('silent'),
    metrics: {
      acceptedUploads: new Counter({ name: 'accepted', help: '-', registers }),
      batchUploads: new Histogram({ name: 'batch', help: '-', registers }),
      failedBatches: new Counter({ name: 'failed', help: '-', registers }),
    },
    onStored: (uploads) => stored.push(...uploads),
  });
  return { intake, stored };
}

it('queues the uploads of a device in one shard, in order, for any device id', async () => {
  const settings = settingsOf(5);
  const { intake, stored } = openIntake(settings);
  const ids = fc.sample(fc.uniqueArray(fc.string({ minLength: 1, unit: 'binary' }), { minLength: 60 }), 1)[0] ?? [];
  const count = 20 * ids.length;
  for (let index = 0; index < count; index += 1) {
    const deviceId = ids[index % ids.length] ?? '';
    const upload = { deviceId, payload: Buffer.from(String(index)), receivedAtMs: 1 };
    intake.add(upload, index % 3 === 0 ? lateLane : liveLane);
  }
  await eventually(async () => expect(stored).toHaveLength(count));

  const { queues, close } = openShardQueues(settings);
  closes.push(close);
  const found = new Map<string, Set<number>>();
  for (const { shard, uploads, lateUploads } of queues) {
    for (const queue of [uploads, lateUploads]) {
      const last = new Map<string, number>();
      for (const { deviceId, text } of (await queue.getJobs(['wait'], 0, -1, true)).flatMap(
        ({ data }) => data.uploads,
      )) {
        found.set(deviceId, (found.get(deviceId) ?? new Set()).add(shard));
        expect(Number(text)).toBeGreaterThan(last.get(deviceId) ?? -1);
        last.set(deviceId, Number(text));
      }
    }
  }
  expect(found).toEqual(new Map(ids.map((id) => [id, new Set([shardOf(id, 5)])])));
});

it('stores uploads once although Redis never answers the first attempt', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  closes.push(() => vi.useRealTimers());
  const settings = settingsOf(1);
  let attempts = 0;
  const { intake, stored } = openIntake(settings, (add) => async (data, options) => {
    attempts += 1;
    await add(data, options);
    if (attempts === 1) await new Promise(() => undefined);
  });
  intake.add({ deviceId: 'unit-1', payload: Buffer.from('{}'), receivedAtMs: 1 }, liveLane);
  await vi.waitFor(() => expect(attempts).toBe(1));
  vi.advanceTimersByTime(15_000);
  vi.useRealTimers();
  await eventually(async () => expect(stored).toHaveLength(1));
  expect(await countUploadJobs(settings, createLogger('silent'))).toBe(1);
});

it('distributes devices evenly over shards, including devices with sequential ids', () => {
  const fleets = fc.record({
    prefix: fc.string({ maxLength: 12 }),
    first: fc.maxSafeNat().map((number) => number % 1e14),
    step: fc.integer({ min: 1, max: 100 }),
    shards: fc.integer({ min: 2, max: 16 }),
  });
  fc.assert(
    fc.property(fleets, ({ prefix, first, step, shards }) => {
      const devices = Array.from({ length: 200 * shards }, () => 0);
      const counts = Array.from({ length: shards }, () => 0);
      devices.forEach((_, index) => {
        const shard = shardOf(`${prefix}${first + index * step}`, shards);
        counts[shard] = (counts[shard] ?? 0) + 1;
      });
      expect(Math.min(...counts)).toBeGreaterThan(100);
      expect(Math.max(...counts)).toBeLessThan(300);
    }),
  );
});

it('uses the queues of an unsharded installation for the first shard', () => {
  const { queues, close } = openShardQueues(settingsOf(2));
  closes.push(close);
  expect(queues.map(({ uploads, lateUploads }) => [uploads.name, lateUploads.name])).toEqual([
    ['uploads', 'late-uploads'],
    ['{uploads-1}', '{late-uploads-1}'],
  ]);
});

it('finds shards with jobs beyond the configured number of shards', async () => {
  const settings = settingsOf(4);
  const { intake, stored } = openIntake(settings);
  for (let device = 0; device < 50; device += 1) {
    intake.add({ deviceId: `device-${device}`, payload: Buffer.from('{}'), receivedAtMs: 1 }, lateLane);
  }
  await eventually(async () => expect(stored).toHaveLength(50));
  const redis = connectRedis(settings.REDIS_URL, createLogger('silent'));
  closes.push(() => redis.disconnect());
  await eventually(async () => expect(redis.status).toBe('ready'));
  const retired = await findRetiredShards({ ...settings, UPLOAD_SHARDS: 2 }, [redis]);
  expect(retired.map(({ shard }) => shard)).toEqual([2, 3]);
  expect(await findRetiredShards(settings, [redis])).toEqual([]);

  const logger = createLogger('silent');
  const count = await countUploadJobs(settings, logger);
  expect(count).toBeGreaterThanOrEqual(4);
  expect(await countUploadJobs({ ...settings, UPLOAD_SHARDS: 2 }, logger)).toBe(count);
});

it('does not count the jobs of some servers only', async () => {
  const settings = settingsOf(2);
  const withOneAway = { ...settings, REDIS_URL: `${settings.REDIS_URL},redis://127.0.0.1:${await freePort()}` };
  await expect(countUploadJobs(withOneAway, createLogger('silent'))).rejects.toThrow();
});

/** Returns the id of a device in one of two shards. */
function deviceIn(shard: number): string {
  for (let device = 0; ; device += 1) if (shardOf(`d${device}`, 2) === shard) return `d${device}`;
}

it('keeps a shard that has reached its memory limit from using that of the others', () => {
  const held = new HeldByLane(100, 2);
  const [first, second] = [deviceIn(0), deviceIn(1)];
  expect(held.reserve(first, 50, false)).toBe(true);
  expect(held.reserve(first, 1, false)).toBe(false);
  expect(held.reserve(second, 50, false)).toBe(true);
  held.release(first, 50, false);
  expect([held.total, held.reserve(first, 50, false)]).toEqual([50, true]);
});

it('each of many shards may hold an eighth of the memory, all together no more than the whole', () => {
  const held = new HeldByLane(800, 64);
  expect(held.reserve('d0', 100, false)).toBe(true);
  expect(held.reserve('d0', 1, false)).toBe(false);
  for (let device = 1; device <= 1000; device += 1) held.reserve(`d${device}`, 10, false);
  expect(held.total).toBe(800);
});

it('late uploads leave two thirds of the memory of each shard to live ones', () => {
  const held = new HeldByLane(120, 2);
  const [first, second] = [deviceIn(0), deviceIn(1)];
  expect(held.reserve(first, 20, true)).toBe(true);
  expect(held.reserve(first, 1, true)).toBe(false);
  expect([held.reserve(first, 40, false), held.reserve(second, 60, false)]).toEqual([true, true]);
  held.release(first, 20, true);
  expect([held.total, held.reserve(first, 20, true)]).toEqual([100, true]);
});

it('each of many shards may hold a twelfth of the memory in late uploads, all together a third', () => {
  const held = new HeldByLane(1200, 64);
  expect(held.reserve('d0', 100, true)).toBe(true);
  expect(held.reserve('d0', 1, true)).toBe(false);
  for (let device = 1; device <= 1000; device += 1) held.reserve(`d${device}`, 10, true);
  expect(held.total).toBe(400);
});
