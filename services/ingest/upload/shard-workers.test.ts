import type { QueuedUpload } from '@odograph/contracts/queues';
import { type Database, openDatabase } from '@odograph/database/database';
import { openShardQueues } from '@odograph/queue/shards';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { eventually } from '@odograph/testkit/eventually';
import { testConfig } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { createIngestMetrics } from '../pipeline/metrics.ts';
import { DelayedUploads } from './ingest-upload.ts';
import { lockClassOf, ShardWorkers } from './shard-workers.ts';

const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** Starts the workers of one process; they collect the device ids of the uploads in the jobs they process. */
function startWorkers(config: ResolvedConfig) {
  const processed: string[] = [];
  const process = async ({ data }: { data: { uploads: readonly QueuedUpload[] } }) =>
    void processed.push(...data.uploads.map(({ deviceId }) => deviceId));
  const workers = new ShardWorkers({
    ...{ config, logger: createLogger('silent'), onFailure: () => undefined, onStopped: () => undefined },
    live: { process, concurrency: 8 },
    late: { process, concurrency: 8 },
  });
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= workers.close());
  closes.push(close);
  return { workers, processed, close };
}

const sharesOf = (...all: { readonly workers: ShardWorkers }[]) => all.map(({ workers }) => workers.shards.length);
const shardsOf = (...all: { readonly workers: ShardWorkers }[]) =>
  all.flatMap(({ workers }) => workers.shards).sort((a, b) => a - b);

/** Finds the session that holds the first shard. */
async function findHolder(db: Database, lockClass: number): Promise<number | undefined> {
  const { rows } = await sql<{ pid: number }>`select pid from pg_locks
    where locktype = 'advisory' and classid = ${lockClass}::bigint and objid = 1 and granted`.execute(db);
  return rows[0]?.pid;
}

/** Counts the sessions that take part in sharing the shards. */
async function countProcesses(db: Database, lockClass: number): Promise<number> {
  const { rows } = await sql`select distinct pid from pg_locks
    where locktype = 'advisory' and classid = ${lockClass}::bigint and granted`.execute(db);
  return rows.length;
}

describe('ingest processes', { timeout: 60_000 }, () => {
  it('share the shards equally, one process each, and take over those of a process that ends', async ({ skip }) => {
    skip(!inject('isNativeDatabase'), 'connections to the embedded database share their locks');
    const config = await testConfig({ UPLOAD_SHARDS: '5' });
    const first = startWorkers(config);
    await eventually(async () => expect(shardsOf(first)).toEqual([0, 1, 2, 3, 4]), 30_000);
    const second = startWorkers(config);
    await eventually(async () => {
      expect(sharesOf(first, second).sort((a, b) => a - b)).toEqual([2, 3]);
      expect(shardsOf(first, second)).toEqual([0, 1, 2, 3, 4]);
    }, 30_000);
    await first.close();
    await eventually(async () => expect(shardsOf(second)).toEqual([0, 1, 2, 3, 4]), 30_000);
  });

  it('each process all shards behind PgBouncer, which shares their sessions', async () => {
    const config = await testConfig({ UPLOAD_SHARDS: '3' });
    const url = new URL(config.DATABASE_URL);
    url.searchParams.set('pgbouncer', 'true');
    const pooled = { ...config, DATABASE_URL: url.href };
    const [first, second] = [startWorkers(pooled), startWorkers(pooled)];
    await eventually(
      async () =>
        expect([shardsOf(first), shardsOf(second)]).toEqual([
          [0, 1, 2],
          [0, 1, 2],
        ]),
      30_000,
    );
  });

  it('stand by for a single shard, and one of them takes it when the database ends the session of its owner', async ({
    skip,
  }) => {
    skip(!inject('isNativeDatabase'), 'connections to the embedded database share their locks');
    const config = await testConfig();
    const db = openDatabase({ url: config.DATABASE_URL, name: 'test', size: 1 });
    closes.push(() => db.destroy());
    const first = startWorkers(config);
    await eventually(async () => expect(shardsOf(first)).toEqual([0]), 30_000);
    const holder = await findHolder(db, lockClassOf(config));
    const second = startWorkers(config);
    await eventually(async () => expect(await countProcesses(db, lockClassOf(config))).toBe(2), 30_000);
    expect(shardsOf(second)).toEqual([]);
    await sql`select pg_terminate_backend(${holder}::integer)`.execute(db);
    await eventually(async () => {
      const next = await findHolder(db, lockClassOf(config));
      expect([next !== undefined, next === holder]).toEqual([true, false]);
      expect(shardsOf(first, second)).toEqual([0]);
    }, 30_000);
  });

  it('forget a job that they hand over unfinished', async () => {
    const config = await testConfig();
    const { queues, close } = openShardQueues(config);
    closes.push(close);
    const delayed = new DelayedUploads([]);
    let attempts = 0;
    const workers = new ShardWorkers({
      ...{ config, logger: createLogger('silent'), onFailure: () => undefined },
      live: {
        async process(job) {
          delayed.started(job);
          attempts += 1;
          throw new Error('not stored');
        },
        concurrency: 1,
      },
      late: { process: async () => undefined, concurrency: 1 },
      onStopped: (queue) => delayed.stopped(queue),
    });
    let closing: Promise<void> | undefined;
    const stop = () => (closing ??= workers.close());
    closes.push(stop);
    await queues[0]?.uploads.add(
      'uploads',
      { uploads: [], devices: 0, bytes: 0 },
      { jobId: 'unfinished', timestamp: 1 },
    );
    await eventually(async () => expect(attempts).toBeGreaterThan(0), 30_000);
    expect(await delayed.oldestAgeMs()).toBeGreaterThan(0);
    await stop();
    expect(await delayed.oldestAgeMs()).toBe(0);
    expect(await queues[0]?.uploads.getWaitingCount()).toBe(1);
  });

  it('count the jobs of a shard that UPLOAD_SHARDS no longer names', async () => {
    const config = await testConfig();
    const { queues, close } = openShardQueues({ ...config, UPLOAD_SHARDS: 2 });
    closes.push(close);
    await queues[1]?.uploads.add('uploads', { uploads: [], devices: 0, bytes: 0 }, { jobId: 'left-behind' });
    let store = (): void => undefined;
    const stored = new Promise<void>((resolve) => {
      store = resolve;
    });
    const process = () => stored;
    const workers = new ShardWorkers({
      ...{ config, logger: createLogger('silent'), onFailure: () => undefined, onStopped: () => undefined },
      live: { process, concurrency: 1 },
      late: { process, concurrency: 1 },
    });
    closes.push(() => workers.close(), store);
    const registry = new Registry();
    const shards = {
      queues: queues.slice(0, 1),
      get retired() {
        return workers.retired;
      },
    };
    createIngestMetrics(registry, shards, { stalledSeconds: 0 }, new DelayedUploads([]));
    const depths = () => registry.getSingleMetricAsString('odograph_ingest_queue_depth_jobs');
    await eventually(async () => expect(await depths()).toMatch(/\{shard="0"\} 0\n.*\{shard="1"\} 1$/), 30_000);
  });

  it('process the jobs of every shard, even if all connections share their locks', async () => {
    const config = await testConfig({ UPLOAD_SHARDS: '3' });
    const { queues, close } = openShardQueues(config);
    closes.push(close);
    const only = startWorkers(config);
    for (const { shard, uploads, lateUploads } of queues) {
      for (const queue of [uploads, lateUploads]) {
        const upload = { deviceId: `${queue.name} of ${shard}`, receivedAtMs: 1, text: '{}' };
        await queue.add(queue.name, { uploads: [upload], devices: 1, bytes: 1 }, { jobId: queue.name });
      }
    }
    const expected = queues.flatMap(({ shard, uploads, lateUploads }) =>
      [uploads, lateUploads].map(({ name }) => `${name} of ${shard}`),
    );
    await eventually(async () => expect(only.processed.sort()).toEqual(expected.sort()), 30_000);
  });
});
