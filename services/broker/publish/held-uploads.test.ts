import { setTimeout as delay } from 'node:timers/promises';
import type { Limits } from '@odograph/runtime/limits';
import { connectDevice, type DeviceConnection } from '@odograph/simulator/device-connection';
import { eventually } from '@odograph/testkit/eventually';
import { createDevice } from '@odograph/testkit/fixtures';
import { hasRedisServer } from '@odograph/testkit/programs';
import { openUploadQueues } from '@odograph/testkit/queued-uploads';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closed, type OwnRedis, openRedis, startOwnRedis, startStallingProxy } from '../broker.fixture.ts';
import { brokerService } from '../service.ts';

describe.skipIf(!hasRedisServer)('while Redis does not store uploads', () => {
  let redis: OwnRedis;
  const undo: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    redis = await startOwnRedis();
    undo.push(() => redis.remove());
  });
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  async function start(limits: Partial<Limits> = {}, settings: Record<string, string> = {}): Promise<TestPlatform> {
    const platform = await startTestPlatform([brokerService], { REDIS_URL: redis.url, ...settings }, limits);
    undo.push(() => platform.stop());
    return platform;
  }
  async function queued(platform: TestPlatform, deviceId: string): Promise<number[]> {
    const queues = openUploadQueues(platform.config);
    const uploads = await eventually(() => queues.uploads());
    await queues.close();
    return uploads.flatMap((upload) => (upload.deviceId === deviceId ? [JSON.parse(upload.text ?? '').timestamp] : []));
  }
  const health = async ({ httpUrl }: TestPlatform) => {
    const response = await fetch(`${httpUrl}/health`);
    return { status: response.status, text: await response.text() };
  };
  /** Uploads readings with these timestamps; those with a PUBACK are added to `acknowledged`. */
  function upload(device: DeviceConnection, numbers: number[], acknowledged: number[]): void {
    for (const timestamp of numbers) {
      device.upload({ timestamp }).then(
        () => acknowledged.push(timestamp),
        () => undefined,
      );
    }
  }
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

  it('sends no PUBACK before Redis has written the upload', async () => {
    const platform = await start();
    const control = await openRedis(redis.url);
    undo.push(async () => control.disconnect());
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const acknowledged: number[] = [];
    await control.call('CLIENT', 'PAUSE', '60000', 'WRITE');
    upload(device, range(0, 20), acknowledged);
    await delay(300);
    expect(acknowledged).toEqual([]);
    await control.call('CLIENT', 'UNPAUSE');
    await eventually(async () => expect(acknowledged).toEqual(range(0, 20)));
    expect(await queued(platform, identity.deviceId)).toEqual(range(0, 20));
  });

  it('answers pings after held uploads, so that the connection stays', async () => {
    const platform = await start();
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db), { keepalive: 2 });
    const acknowledged: number[] = [];
    await redis.kill();
    upload(device, range(0, 5), acknowledged);
    await delay(6000);
    expect(device.client.connected).toBe(true);
    expect(acknowledged).toEqual([]);
    await redis.restart();
    await eventually(async () => expect(acknowledged).toEqual(range(0, 5)));
  });

  it('neither loses nor duplicates uploads when Redis is killed and restarted', async () => {
    const platform = await start();
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const acknowledged: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const next = range(round * 200, round * 200 + 200);
      upload(device, next.slice(0, 100), acknowledged);
      await eventually(async () => expect(acknowledged.length).toBeGreaterThan(round * 200 + 20));
      await redis.kill();
      upload(device, next.slice(100), acknowledged);
      await eventually(async () => expect((await health(platform)).status).toBe(503));
      expect((await health(platform)).text).toContain('holding uploads');
      expect(acknowledged.length).toBeLessThan(round * 200 + 200);
      await redis.restart();
      await eventually(async () => expect(acknowledged).toHaveLength(round * 200 + 200));
    }
    expect(await queued(platform, identity.deviceId)).toEqual(range(0, 600));
    await eventually(async () => expect((await health(platform)).status).toBe(200));
  });

  it('replaces a silent connection to Redis, and neither loses nor duplicates its uploads', async () => {
    const proxy = await startStallingProxy(redis.url);
    undo.push(() => proxy.close());
    const platform = await start({}, { REDIS_URL: proxy.url });
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const acknowledged: number[] = [];
    await device.upload({ timestamp: 0 });
    proxy.stall();
    upload(device, [1, 2, 3], acknowledged);
    await eventually(async () => expect(acknowledged).toEqual([1, 2, 3]), 15_000);
    expect(await queued(platform, identity.deviceId)).toEqual([0, 1, 2, 3]);
    proxy.endStalled();
  });

  it('starts and accepts devices without Redis, and stores their uploads once it is there', async () => {
    await redis.kill();
    const platform = await start();
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const acknowledged: number[] = [];
    upload(device, [1, 2], acknowledged);
    await redis.restart();
    await eventually(async () => expect(acknowledged).toEqual([1, 2]));
    const control = await openRedis(redis.url);
    undo.push(async () => control.disconnect());
    const key = `${platform.config.QUEUE_PREFIX}:presence`;
    await eventually(async () => expect(await control.hget(key, identity.deviceId)).not.toBeNull());
  });

  it('holds uploads while Redis has no memory for them', async () => {
    const platform = await start();
    const control = await openRedis(redis.url);
    undo.push(async () => control.disconnect());
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const acknowledged: number[] = [];
    await control.config('SET', 'maxmemory', '1');
    upload(device, [1, 2, 3], acknowledged);
    await delay(500);
    expect(acknowledged).toEqual([]);
    await control.config('SET', 'maxmemory', '0');
    await eventually(async () => expect(acknowledged).toEqual([1, 2, 3]));
    expect(await queued(platform, identity.deviceId)).toEqual([1, 2, 3]);
  });

  it('acknowledges uploads again once a queue that filled Redis is empty, whatever else Redis keeps', async () => {
    const platform = await start();
    const control = await openRedis(redis.url);
    undo.push(async () => control.disconnect());
    const queues = openUploadQueues(platform.config);
    undo.push(() => queues.close());
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    for (let number = 0; number < 4; number += 1) await device.upload('x'.repeat(100_000));
    const used = async () => Number(/^used_memory:(\d+)/m.exec(await control.info('memory'))?.[1]);
    const maximum = await used();
    await control.config('SET', 'maxmemory', String(maximum));
    await eventually(async () =>
      expect((await health(platform)).text).toContain('exceeds its limit of memory in Redis'),
    );
    const acknowledged: number[] = [];
    upload(device, [1], acknowledged);
    await delay(700);
    expect(acknowledged).toEqual([]);
    await queues.drain();
    expect(await used()).toBeGreaterThan(0.75 * maximum);
    await eventually(async () => expect(acknowledged).toEqual([1]));
    expect((await health(platform)).status).toBe(200);
  });

  it('sends no PUBACK while the backlog exceeds its limit, fails /health, and recovers below it', async () => {
    const platform = await start({ maxBacklogJobs: 5 });
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    for (let number = 0; number < 6; number += 1) await device.upload({ timestamp: number });
    await eventually(async () => expect((await health(platform)).text).toContain('backlog'));
    const acknowledged: number[] = [];
    upload(device, [100], acknowledged);
    await delay(700);
    expect(acknowledged).toEqual([]);
    const queues = openUploadQueues(platform.config);
    await queues.drain();
    await eventually(async () => expect(acknowledged).toEqual([100]));
    await queues.close();
  });

  it('closes connections that exceed the memory for held uploads, and keeps what it holds', async () => {
    const platform = await start({ maxHeldBytes: 300_000 });
    const [first, second] = await Promise.all([createDevice(platform.db), createDevice(platform.db)]);
    const modest = await connectDevice(platform.mqttUrl, first);
    const greedy = await connectDevice(platform.mqttUrl, second);
    await redis.kill();
    const acknowledged: number[] = [];
    upload(modest, [1], acknowledged);
    for (let count = 0; count < 8; count += 1) void greedy.upload('x'.repeat(100_000)).catch(() => undefined);
    await closed(greedy);
    expect(modest.client.connected).toBe(true);
    await redis.restart();
    await eventually(async () => expect(acknowledged).toEqual([1]));
    await eventually(async () => {
      const held = await platform.metrics.getSingleMetric('odograph_broker_held_bytes')?.get();
      expect(held?.values[0]?.value).toBe(0);
    });
    const again = await connectDevice(platform.mqttUrl, second);
    await again.upload({ timestamp: 2 });
  });

  it('acknowledges live uploads while late ones are held, however many these are, and says so in /health', async () => {
    const platform = await start({ maxBacklogJobs: 20, maxHeldBytes: 300_000 });
    const identities = await Promise.all([createDevice(platform.db), createDevice(platform.db)]);
    const live = await connectDevice(platform.mqttUrl, identities[0]);
    const nowSeconds = Math.floor(Date.now() / 1000);
    for (let number = 0; number < 12; number += 1) await live.upload({ timestamp: nowSeconds + number });
    const late = 'listening; holding late uploads: the backlog exceeds half of its limit';
    await eventually(async () => expect((await health(platform)).text).toContain(late));
    const returning = await connectDevice(platform.mqttUrl, identities[1]);
    const acknowledged: number[] = [];
    // Large and then small ones, which would fill all of the memory.
    for (const timestamp of range(0, 49)) {
      const bytes = timestamp < 9 ? 30_000 : 1000;
      returning.upload({ timestamp, text: 'x'.repeat(bytes) }).then(
        () => acknowledged.push(timestamp),
        () => undefined,
      );
    }
    await closed(returning);
    const text = 'x'.repeat(3000);
    for (let number = 12; number < 15; number += 1) await live.upload({ timestamp: nowSeconds + number, text });
    expect([live.client.connected, acknowledged]).toEqual([true, []]);
    const queues = openUploadQueues(platform.config);
    undo.push(() => queues.close());
    await queues.drain();
    await eventually(async () => expect(await queues.late.count()).toBeGreaterThan(0));
    await eventually(async () => {
      const held = await platform.metrics.getSingleMetric('odograph_broker_held_bytes')?.get();
      expect(held?.values[0]?.value).toBe(0);
    });
    const again = await connectDevice(platform.mqttUrl, identities[1]);
    await again.upload({ timestamp: 0, text: 'x'.repeat(30_000) });
  });

  it('stores the uploads under way when it stops, and sends no PUBACK for others', async () => {
    const platform = await start({}, { ACK_TIMEOUT_MS: '100', SHUTDOWN_DRAIN_MS: '0' });
    const identity = await createDevice(platform.db);
    const device = await connectDevice(platform.mqttUrl, identity);
    const acknowledged: number[] = [];
    upload(device, range(0, 50), acknowledged);
    await delay(5);
    await platform.stop();
    await closed(device);
    const stored = await queued(platform, identity.deviceId);
    expect(stored).toEqual(expect.arrayContaining(acknowledged));
  });

  it('stops in bounded time while Redis is unavailable and uploads are held', async () => {
    const platform = await start({}, { ACK_TIMEOUT_MS: '100', SHUTDOWN_DRAIN_MS: '0' });
    const device = await connectDevice(platform.mqttUrl, await createDevice(platform.db));
    await redis.kill();
    const acknowledged: number[] = [];
    upload(device, [1], acknowledged);
    await eventually(async () => {
      const held = await platform.metrics.getSingleMetric('odograph_broker_held_bytes')?.get();
      expect(held?.values[0]?.value).toBeGreaterThan(0);
    });
    const before = Date.now();
    await platform.stop();
    await closed(device);
    expect(Date.now() - before).toBeLessThan(10_000);
    expect(acknowledged).toEqual([]);
  });
});
