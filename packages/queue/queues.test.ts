import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { eventually } from '@odograph/testkit/eventually';
import { spawnRedis } from '@odograph/testkit/redis-server';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { countUnfinishedJobs, openQueue, openVolatileQueue, openWorker, type WorkOptions } from './queues.ts';
import { keepSchedule } from './schedules.ts';

const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

const newConnection = () => ({ redisUrl: inject('redisUrl'), prefix: `test-${randomUUID()}` });

function openUploads(connection = newConnection()) {
  const queue = openQueue('uploads', connection);
  closes.push(() => queue.close());
  return { connection, queue };
}

function work(options: Omit<WorkOptions<'uploads'>, 'name' | 'concurrency' | 'onFailure'>) {
  const failures: string[] = [];
  const onFailure = (error: Error) => void failures.push(error.message);
  const worker = openWorker({ ...options, name: 'uploads', concurrency: 1, onFailure });
  closes.push(() => worker.close());
  return { worker, failures };
}

const batchOf = (...texts: string[]) => ({
  uploads: texts.map((text): QueuedUpload => ({ deviceId: 'd', receivedAtMs: 1, text })),
  devices: 1,
  bytes: texts.join('').length,
});

describe('a queue', () => {
  it('hands a worker the job as it was added, and forgets it when it is done', async () => {
    const { connection, queue } = openUploads();
    const batch = batchOf('{"timestamp":1}', 'é\u2028\u0000');
    await queue.add('uploads', batch, { jobId: 'first' });
    const taken: unknown[] = [];
    work({ ...connection, process: async (job) => taken.push([job.id, job.data]) });
    await eventually(async () => expect(await countUnfinishedJobs(queue)).toBe(0));
    expect(taken).toEqual([['first', batch]]);
    expect(await queue.getJobCounts()).toMatchObject({ completed: 0, failed: 0 });
  });

  it('does not add a job twice under one id', async () => {
    const { queue } = openUploads();
    await queue.add('uploads', batchOf('a'), { jobId: 'same' });
    await queue.add('uploads', batchOf('b'), { jobId: 'same' });
    expect(await countUnfinishedJobs(queue)).toBe(1);
  });

  it('that is closed while Redis is unavailable stops connecting', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-queue-'));
    closes.push(() => rm(directory, { recursive: true, force: true }));
    const server = await spawnRedis(directory);
    const queue = openQueue('uploads', { redisUrl: server.url, prefix: 'test' });
    await queue.waitUntilReady();
    await server.end('SIGKILL');
    await queue.close().catch(() => undefined);
    // The attempt that was due is made; each further one would come within a second.
    await delay(1200);
    let connections = 0;
    const listener = createServer(() => {
      connections += 1;
    }).listen(server.port, '127.0.0.1');
    await once(listener, 'listening');
    await delay(1200);
    listener.close();
    expect(connections).toBe(0);
  });
});

describe('a worker', () => {
  it('tries a failed job again until it succeeds, and reports each failure', async () => {
    const { connection, queue } = openUploads();
    await queue.add('uploads', batchOf('a'));
    let attempts = 0;
    const { failures } = work({
      ...connection,
      async process() {
        attempts += 1;
        if (attempts < 3) throw new Error(`failure ${attempts}`);
      },
    });
    await eventually(async () => expect(await countUnfinishedJobs(queue)).toBe(0));
    expect(failures).toEqual(['failure 1', 'failure 2']);
    expect(attempts).toBe(3);
  });

  it('gives a job up after its maximum of attempts and keeps it among the failed ones', async () => {
    const { connection, queue } = openUploads();
    await queue.add('uploads', batchOf('a'));
    await queue.add('uploads', batchOf('b'));
    const done: unknown[] = [];
    const { failures } = work({
      ...connection,
      maximumAttempts: 2,
      async process({ data }) {
        if (data.uploads[0]?.text === 'a') throw new Error('always');
        done.push(data.uploads[0]?.text);
      },
    });
    await eventually(async () => expect(done).toEqual(['b']));
    expect(failures).toEqual(['always', 'always']);
    await eventually(async () => expect(await queue.getJobCounts('failed')).toEqual({ failed: 1 }));
  });

  it('waits between attempts however the wall clock jumps', async () => {
    const { connection, queue } = openUploads();
    await queue.add('uploads', batchOf('a'));
    const realNow = Date.now;
    closes.push(() => {
      Date.now = realNow;
    });
    let attempts = 0;
    work({
      ...connection,
      async process() {
        attempts += 1;
        // The first attempt fails under a clock an hour ahead; the clock is set right before the second.
        Date.now = attempts === 1 ? () => realNow() + 3_600_000 : realNow;
        if (attempts === 1) throw new Error('once');
      },
    });
    await eventually(async () => expect(attempts).toBe(2));
  });

  it('returns a job that keeps failing to the queue when it closes, for the next worker to take at once', async () => {
    const { connection, queue } = openUploads();
    await queue.add('uploads', batchOf('a'));
    const first = work({
      ...connection,
      process: async () => {
        throw new Error('no');
      },
    });
    await eventually(async () => expect(first.failures.length).toBeGreaterThan(2));
    await first.worker.close();
    expect(await queue.getJobCounts('wait', 'delayed', 'failed')).toEqual({ wait: 1, delayed: 0, failed: 0 });
    const taken: unknown[] = [];
    work({ ...connection, process: async ({ data }) => taken.push(data.uploads.length) });
    // Sooner than the lock of the first one ends.
    await eventually(async () => expect(taken).toEqual([1]), 8000);
  });

  it('finishes the job under way before it closes', async () => {
    const { connection, queue } = openUploads();
    await queue.add('uploads', batchOf('a'));
    const steps = new EventEmitter();
    const { worker } = work({
      ...connection,
      async process() {
        steps.emit('started');
        await once(steps, 'released');
      },
    });
    await once(steps, 'started');
    const closed = worker.close();
    steps.emit('released');
    await closed;
    expect(await countUnfinishedJobs(queue)).toBe(0);
  });
});

it('a worker whose Redis is unavailable closes once its job is processed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'odograph-away-'));
  closes.push(() => rm(directory, { recursive: true, force: true }));
  const server = await spawnRedis(directory);
  closes.push(() => server.end('SIGKILL'));
  const connection = { redisUrl: server.url, prefix: 'test' };
  const queue = openQueue('uploads', connection);
  closes.push(() => queue.close().catch(() => undefined));
  const events = new EventEmitter();
  const started = once(events, 'started');
  const worker = openWorker({
    ...connection,
    ...{ name: 'uploads', concurrency: 1, onFailure: () => undefined },
    async process() {
      events.emit('started');
      await once(events, 'process');
    },
  });
  await queue.add('uploads', batchOf('good'), { jobId: 'good' });
  await started;
  await server.end('SIGKILL');
  const closed = worker.close();
  events.emit('process');
  await expect(closed).resolves.toBeUndefined();
});

describe('an idle worker', () => {
  it('keeps its connections after a restart of Redis, beyond the timeout of a silent connection', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'odograph-queue-'));
    closes.push(() => rm(directory, { recursive: true, force: true }));
    let server = await spawnRedis(directory);
    closes.push(() => server.end('SIGKILL'));
    const connection = { redisUrl: server.url, prefix: 'test' };
    const { failures } = work({ ...connection, idleSeconds: 1, process: async () => undefined });
    // The worker waits for its next job on an open request when Redis ends.
    await delay(1000);
    await server.end('SIGKILL');
    server = await spawnRedis(directory, server.port);
    await delay(3500);
    expect(failures.filter((message) => message.startsWith('Socket timeout'))).toEqual([]);
    const { queue } = openUploads(connection);
    await queue.add('uploads', batchOf('a'));
    await eventually(async () => expect(await countUnfinishedJobs(queue)).toBe(0));
  });
});

describe('adding to a queue in memory', () => {
  it('succeeds when the job has been processed, and fails when it was given up', async () => {
    const { connection, queue } = openUploads();
    const volatileQueue = openVolatileQueue(queue, connection);
    closes.push(() => volatileQueue.close());
    const done: unknown[] = [];
    work({
      ...connection,
      maximumAttempts: 1,
      async process({ data }) {
        if (data.uploads[0]?.text === 'bad') throw new Error('given up');
        done.push(data.uploads[0]?.text);
      },
    });
    await volatileQueue.add(batchOf('good'), { jobId: 'good' });
    expect(done).toEqual(['good']);
    await expect(volatileQueue.add(batchOf('bad'), { jobId: 'bad' })).rejects.toThrow('given up');
  });
});

describe('a schedule', () => {
  it('adds its job once for all processes that keep it', async () => {
    const connection = newConnection();
    const queue = openQueue('trips', connection);
    closes.push(() => queue.close());
    const schedule = { queue, id: 'trips', everyMs: 60_000, data: {} };
    closes.push(await keepSchedule(schedule), await keepSchedule(schedule));
    expect(await queue.getJobSchedulersCount()).toBe(1);
    expect(await countUnfinishedJobs(queue)).toBe(1);
  });

  it('is registered again after a clock that was ahead is set back', async () => {
    const connection = newConnection();
    const queue = openQueue('trips', connection);
    closes.push(() => queue.close());
    const realNow = Date.now;
    Date.now = () => realNow() + 3_600_000;
    closes.push(() => {
      Date.now = realNow;
    });
    const schedule = { queue, id: 'trips', everyMs: 1000, data: {} };
    closes.push(await keepSchedule(schedule));
    Date.now = realNow;
    expect((await queue.getJobScheduler('trips'))?.next).toBeGreaterThan(Date.now() + 3_000_000);
    closes.push(await keepSchedule(schedule));
    expect((await queue.getJobScheduler('trips'))?.next).toBeLessThan(Date.now() + 60_000);
  });
});
