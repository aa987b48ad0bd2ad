import { randomUUID } from 'node:crypto';
import { lateUploadPriority } from '@odograph/contracts/queues';
import { countUnfinishedJobs, openQueue } from '@odograph/queue/queues';
import { createLogger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { openSealer } from '@odograph/runtime/sealing';
import { createApplication, createVehicle } from '@odograph/testkit/fixtures';
import { startTestPlatform, type TestPlatform } from '@odograph/testkit/test-platform';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIngestMetrics } from '../metrics.ts';
import { RejectAnnouncer } from '../quarantine/announce-rejects.ts';
import { DelayedUploads } from './delayed-uploads.ts';
import { createUploadProcessors, lateJobsPerTransaction } from './ingest-upload.ts';
import { StorageProgress } from './storage-progress.ts';

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startTestPlatform([]);
});
afterAll(() => platform.stop());

const jobCount = 2 * lateJobsPerTransaction;

/** Processes late jobs of one reading each, twice as many as may be in process. */
async function processLateJobs(redisIsDurable: boolean) {
  const { db, config } = platform;
  const connection = { redisUrl: config.REDIS_URL, prefix: `test-${randomUUID()}` };
  const [queue, lateQueue] = [openQueue('uploads', connection), openQueue('late-uploads', connection)];
  const { deviceId, id } = await createVehicle(db, await createApplication(db));
  const progress = new StorageProgress(async () => 0);
  const processors = createUploadProcessors({
    ...{ db, sealer: await openSealer(config, 'quarantine'), lateQueue, progress, logger: createLogger('silent') },
    metrics: createIngestMetrics(new Registry(), async () => 0, progress),
    delayed: new DelayedUploads(queue),
    rejects: new RejectAnnouncer(async () => undefined, config.QUEUE_PREFIX),
    changes: { announce: async () => undefined },
    config: { ...config, INGEST_TRANSACTIONS: 1, REDIS_IS_DURABLE: redisIsDurable },
  });
  const jobs = await Promise.all(
    Array.from({ length: jobCount }, (_, index) => {
      const text = JSON.stringify({ timestamp: 1_700_000_000 + index, status: { ignition: true } });
      const uploads = [{ deviceId, receivedAtMs: Date.now(), text }];
      const options = { jobId: randomUUID(), priority: lateUploadPriority };
      return queue.add('uploads', { uploads, devices: 1, bytes: text.length }, options);
    }),
  );
  await Promise.all(jobs.map((job) => processors.uploads(job)));
  const { rows: stored } = await sql`select from reading where vehicle_id = ${Number(id)}`.execute(db);
  const moved = await countUnfinishedJobs(lateQueue);
  progress.stop();
  await Promise.all([queue.close(), lateQueue.close()]);
  return { stored: stored.length, moved };
}

describe('late jobs beyond those in process', () => {
  it('are moved to the queue of late uploads where Redis is durable', async () => {
    const { stored, moved } = await processLateJobs(true);
    expect(moved).toBeGreaterThan(0);
    expect(stored + moved).toBe(jobCount);
  });

  it('end only after their readings are stored where Redis keeps its queues in memory', async () => {
    expect(await processLateJobs(false)).toEqual({ stored: jobCount, moved: 0 });
  });
});
