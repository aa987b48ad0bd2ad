import { openDatabase, pingDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { countUnfinishedJobs, openQueue, openWorker } from '@odograph/queue/queues';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service } from '@odograph/runtime/service';
import { createGapMetrics } from './gaps/metrics.ts';
import { scheduleMaintenance } from './maintenance/schedule.ts';
import { createIngestMetrics } from './metrics.ts';
import { scheduleTrips } from './trips/schedule.ts';
import { DelayedUploads } from './upload/delayed-uploads.ts';
import { createUploadProcessor, jobsPerTransaction } from './upload/ingest-upload.ts';

const silentDatabaseMs = 30_000;
/** More than the distinct statements of an upload transaction. */
const uploadStatements = 50;

/** Stores uploads from the queue, segments trips and maintains the database. */
export const ingestService: Service<Http> = {
  name: 'ingest',
  givesWay: true,
  async start(host) {
    const { config, logger } = host;
    const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
    const db = openDatabase({ url: config.DATABASE_URL, name: 'ingest', size: 3 });
    host.onStop('ingest database', () => db.destroy());
    // Upload transactions are short, unlike maintenance, so a silent connection is broken.
    const uploads = openDatabase({
      url: config.DATABASE_URL,
      name: 'ingest-uploads',
      size: config.INGEST_TRANSACTIONS,
      silenceMs: silentDatabaseMs,
      idleInTransactionMs: silentDatabaseMs / 2,
      preparedStatements: uploadStatements,
    });
    host.onStop('uploads database', () => uploads.destroy());
    const queue = openQueue('uploads', connection);
    host.onStop('uploads queue', () => queue.close());
    const delayed = new DelayedUploads(queue);
    const metrics = createIngestMetrics(host.metrics, () => countUnfinishedJobs(queue));
    createGapMetrics(host.metrics, db);
    await scheduleMaintenance(db, host);
    await scheduleTrips(db, host);
    const worker = openWorker({
      ...connection,
      name: 'uploads',
      concurrency: config.INGEST_TRANSACTIONS * jobsPerTransaction,
      process: createUploadProcessor({
        db: uploads,
        sealer: await openSealer(config),
        metrics,
        delayed,
        logger,
        transactions: config.INGEST_TRANSACTIONS,
        maximumAgeDays: config.READING_MAX_AGE_DAYS,
        newChunksPerHour: config.READING_NEW_CHUNKS_PER_HOUR,
        quarantinePerHour: config.QUARANTINE_UPLOADS_PER_HOUR,
      }),
      onFailure: (error, jobId) => logger.debug({ jobId, reason: error.message }, 'uploads worker'),
    });
    host.onStop('uploads worker', () => worker.close());
    return {
      async health() {
        await pingDatabase(db);
        if (!worker.isRunning()) return { ok: false, state: 'not processing uploads' };
        const delaySeconds = Math.floor((await delayed.oldestAgeMs()) / 1000);
        if (delaySeconds <= config.UPLOAD_MAX_DELAY_SECONDS) return { ok: true, state: 'processing uploads' };
        return { ok: false, state: `an upload has been waiting for ${delaySeconds} s` };
      },
    };
  },
};
