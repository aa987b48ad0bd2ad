import { randomUUID } from 'node:crypto';
import { type Database, openDatabase } from '@odograph/database/database';
import { readGrowth, readPercentiles, recordSamples } from '@odograph/database/pipeline-samples';
import type { Http } from '@odograph/http/http';
import { countShardJobs, openShardQueues } from '@odograph/queue/shards';
import { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { connectRedis } from '@odograph/runtime/redis';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { alarmCheckAgeMs, scheduleAlarms } from './alarms/watch.ts';
import { FrameRedecoding } from './maintenance/redecode.ts';
import { scheduleMaintenance } from './maintenance/schedule.ts';
import { createDatabaseMetrics, createGapMetrics, createIngestMetrics, databaseBytes } from './pipeline/metrics.ts';
import { scheduleTrips } from './trips/schedule.ts';
import {
  createUploadProcessors,
  DelayedUploads,
  StorageProgress,
  transactionsPerBatch,
} from './upload/ingest-upload.ts';
import { concurrentBatches, jobsPerBatch, lateJobsPerBatch } from './upload/lanes.ts';
import { openLateQueues } from './upload/late-queue.ts';
import { RejectAnnouncer } from './upload/quarantine.ts';
import { ShardWorkers } from './upload/shard-workers.ts';

const silentDatabaseMs = 30_000;
const maxUncheckedMs = 120_000;
/** More than the distinct statements of an upload transaction. */
const uploadStatements = 50;

/** Starts the workers of the upload queues with their own database connections. */
async function startUploadWorkers(host: ServiceHost<Http>) {
  const { config, limits, logger } = host;
  // Upload transactions are short, unlike maintenance, so a silent connection is broken.
  const db = openDatabase({
    url: config.DATABASE_URL,
    name: 'ingest-uploads',
    size: concurrentBatches * transactionsPerBatch,
    silenceMs: silentDatabaseMs,
    idleInTransactionMs: silentDatabaseMs / 2,
    preparedStatements: uploadStatements,
  });
  host.onStop('uploads database', () => db.destroy());
  const { queues, close } = openShardQueues(config);
  host.onStop('upload queues', close);
  const queueLate = openLateQueues(host);
  const announcements = connectRedis(config.REDIS_URL, logger);
  host.onStop('announcements', () => announcements.disconnect());
  const delayed = new DelayedUploads(queues);
  const changes = new ChangeAnnouncer(announcements, host);
  const progress = new StorageProgress(async () => {
    const own = queues.filter(({ shard }) => workers.shards.includes(shard));
    return (await Promise.all(own.map(countShardJobs))).reduce((total, jobs) => total + jobs, 0);
  });
  host.onStop('progress of ingest', () => progress.stop());
  const shards = {
    queues,
    get retired() {
      return workers.retired;
    },
  };
  const metrics = createIngestMetrics(host.metrics, shards, progress, delayed);
  const processors = createUploadProcessors({
    db,
    sealer: await openSealer(config, 'quarantine'),
    metrics,
    delayed,
    progress,
    logger,
    changes,
    rejects: new RejectAnnouncer((channel, text) => announcements.publish(channel, text), config.QUEUE_PREFIX),
    queueLate,
    limits,
  });
  const { maxJobRetryMs: maxRetryMs } = limits;
  const workers = new ShardWorkers({
    ...{ config, logger },
    live: { concurrency: concurrentBatches * jobsPerBatch, process: processors.uploads, maxRetryMs },
    late: { concurrency: concurrentBatches * lateJobsPerBatch, process: processors.lateUploads, maxRetryMs },
    onFailure: (error, jobId) => logger.debug({ jobId, reason: error.message }, 'uploads worker failed'),
    onStopped: (queue) => delayed.stopped(queue),
  });
  host.onStop('upload workers', () => workers.close());
  return { delayed, progress, changes, workers };
}

/** Records what this process stored and how late, for the history of the pipeline. */
function recordIngestSamples(
  { metrics, logger }: ServiceHost<Http>,
  db: Database,
  delayed: DelayedUploads,
): () => void {
  const stored = readGrowth(metrics, 'odograph_ingest_readings_total');
  const quarantined = readGrowth(metrics, 'odograph_ingest_quarantined_uploads_total');
  const lag = readPercentiles(metrics, 'odograph_ingest_lag_seconds');
  const measure = async () => {
    const { p50, p99 } = await lag();
    return {
      stored_readings: await stored(),
      quarantined_uploads: await quarantined(),
      lag_p50_ms: p50,
      lag_p99_ms: p99,
      oldest_job_seconds: (await delayed.oldestAgeMs()) / 1000,
      database_bytes: await databaseBytes(db),
    };
  };
  return recordSamples(db, `ingest ${randomUUID()}`, measure, logger);
}

/** Stores uploads from the queue, segments trips and maintains the database. */
export const ingestService: Service<Http> = {
  name: 'ingest',
  yields: true,
  async start(host) {
    const { config, limits } = host;
    const db = openDatabase({ url: config.DATABASE_URL, name: 'ingest', size: 3 });
    host.onStop('ingest database', () => db.destroy());
    createGapMetrics(host.metrics, db);
    createDatabaseMetrics(host.metrics, db);
    await scheduleTrips(db, host);
    const { delayed, progress, changes, workers } = await startUploadWorkers(host);
    await scheduleMaintenance(db, host, new FrameRedecoding(db, changes));
    host.onStop('ingest samples', recordIngestSamples(host, db, delayed));
    await scheduleAlarms(db, host, { changes, oldestUploadMs: () => delayed.oldestAgeMs() });
    const startedAt = performance.now();
    return {
      async health() {
        const fault = workers.fault ?? progress.fault;
        if (fault !== undefined) return { ok: false, state: fault };
        const delaySeconds = Math.floor((await delayed.oldestAgeMs()) / 1000);
        if (delaySeconds > limits.maxUploadDelaySeconds) {
          return { ok: false, state: `an upload has been waiting for ${delaySeconds} s` };
        }
        const uncheckedMs = Math.min(await alarmCheckAgeMs(db), performance.now() - startedAt);
        if (uncheckedMs <= maxUncheckedMs) return { ok: true, state: 'processing uploads' };
        return { ok: false, state: `silent devices not checked for ${Math.floor(uncheckedMs / 1000)} s` };
      },
    };
  },
};
