import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue, QueueEvents, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { killHard, startOwner } from '../process/engine-owner.fixture.ts';
import { identifyProcess, isRunning } from '../process/process-identity.ts';
import { startEmbeddedRedis } from './redis.ts';

let dataDirectory: string;

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'embedded-redis-'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dataDirectory, { recursive: true, force: true });
});

async function withRedis<T>(url: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

const serverPid = async (redis: Redis): Promise<number> =>
  Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1]);

/** Increments until the connection is lost. @returns the last acknowledged value */
async function incrementUntilLost(url: string, onValue: (value: number, redis: Redis) => void): Promise<number> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => undefined);
  let last = 0;
  try {
    for (;;) {
      last = await redis.incr('counter');
      onValue(last, redis);
    }
  } catch {
    return last;
  } finally {
    redis.disconnect();
  }
}

describe('embedded Redis', { timeout: 30_000 }, () => {
  it('writes every command to disk and evicts nothing', async () => {
    const embedded = await startEmbeddedRedis({ dataDirectory });
    expect(embedded.durable).toBe(true);
    const settings = await withRedis(embedded.url, (redis) =>
      redis.config('GET', 'append*', 'maxmemory-policy', 'save', 'bind'),
    );
    expect(settings).toEqual(expect.arrayContaining(['yes', 'always', 'noeviction', '127.0.0.1']));
    await embedded.stop();
  });

  it('loses no acknowledged write when the server is killed, and restarts on the same port', async () => {
    const embedded = await startEmbeddedRedis({ dataDirectory });
    const pid = await withRedis(embedded.url, serverPid);
    const last = await incrementUntilLost(embedded.url, (value) => {
      if (value === 200) process.kill(pid, 'SIGKILL');
    });
    const found = await withRedis(embedded.url, async (redis) => Number(await redis.get('counter')));
    expect(last).toBeGreaterThanOrEqual(200);
    expect(found - last).toBeOneOf([0, 1]);
    await embedded.stop();
  });

  it('starts again at once with every acknowledged write after a kill of the owner', async () => {
    const owner = await startOwner('redis', dataDirectory);
    const server = identifyProcess(await withRedis(owner.url, serverPid));
    let killed: Promise<void> = Promise.resolve();
    const counting = incrementUntilLost(owner.url, (value) => {
      if (value === 200) killed = killHard(owner.process);
    });
    await vi.waitFor(() => expect(owner.process.signalCode).toBe('SIGKILL'), 10_000);
    await killed;
    const embedded = await startEmbeddedRedis({ dataDirectory });
    const last = await counting;
    const found = await withRedis(embedded.url, async (redis) => Number(await redis.get('counter')));
    expect(found - last).toBeOneOf([0, 1]);
    expect(isRunning(server)).toBe(false);
    await embedded.stop();
  });

  it('starts with a truncated last write in the append-only file', async () => {
    const first = await startEmbeddedRedis({ dataDirectory });
    await withRedis(first.url, (redis) => redis.set('key', 'kept'));
    await first.stop();
    const logs = join(dataDirectory, 'appendonlydir');
    const log = (await readdir(logs)).find((name) => name.endsWith('.incr.aof')) ?? '';
    await appendFile(join(logs, log), '*3\r\n$3\r\nSET\r\n$3\r\nke');
    const second = await startEmbeddedRedis({ dataDirectory });
    expect(await withRedis(second.url, (redis) => redis.get('key'))).toBe('kept');
    await second.stop();
  });

  it('refuses a directory and a port that are in use', async () => {
    const embedded = await startEmbeddedRedis({ dataDirectory });
    await expect(startEmbeddedRedis({ dataDirectory })).rejects.toThrow(`in use by process ${process.pid}`);
    const port = Number(new URL(embedded.url).port);
    const second = startEmbeddedRedis({ dataDirectory: join(dataDirectory, 'second'), port });
    await expect(second).rejects.toThrow(`port ${port} of 127.0.0.1 is already in use`);
    await embedded.stop();
  });

  it.each(['redis-server', 'the in-memory server'])('rejects a client without the password: %s', async (kind) => {
    if (kind !== 'redis-server') vi.stubEnv('PATH', dataDirectory);
    const embedded = await startEmbeddedRedis({ dataDirectory });
    const url = new URL(embedded.url);
    url.password = '';
    const redis = new Redis(url.href, {
      protocol: 2,
      lazyConnect: true,
      enableReadyCheck: false,
      retryStrategy: () => null,
    });
    await redis.connect();
    await expect(redis.set('key', 'value')).rejects.toThrow('NOAUTH');
    redis.disconnect();
    await embedded.stop();
  });

  it('leaves no redis-server behind when its owner is killed', async () => {
    const owner = await startOwner('redis', dataDirectory);
    const server = identifyProcess(await withRedis(owner.url, serverPid));
    await killHard(owner.process);
    await vi.waitFor(() => expect(isRunning(server)).toBe(false), 5000);
  });

  it('falls back to memory without redis-server, reports it, and runs a queue', async () => {
    vi.stubEnv('PATH', dataDirectory);
    const embedded = await startEmbeddedRedis({ dataDirectory });
    expect(embedded.durable).toBe(false);
    const connection = { url: embedded.url, maxRetriesPerRequest: null };
    const queue = new Queue('work', { connection });
    const events = new QueueEvents('work', { connection });
    const worker = new Worker('work', (job) => Promise.resolve(Number(job.data.x) * 2), { connection });
    await events.waitUntilReady();
    const job = await queue.add('double', { x: 21 });
    expect(await job.waitUntilFinished(events, 10_000)).toBe(42);
    await worker.close();
    await events.close();
    await queue.close();
    await embedded.stop();
  });
});
