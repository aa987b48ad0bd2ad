import { lateUploadPriority } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { TypedJob } from '@odograph/queue/queues';
import type { Logger } from '@odograph/runtime/logger';
import type { Sealer } from '@odograph/runtime/sealing';
import { createLatestNow } from '@odograph/runtime/time-of-day';
import type { IngestMetrics } from '../metrics.ts';
import { UploadBatcher } from './batch-uploads.ts';
import { decodeUploads } from './decode-uploads.ts';
import { BatchStore } from './store-batch.ts';

/** The error of a failed job. It repeats no value of a reading, since the queue stores and shows it. */
class UploadsNotStored extends Error {
  constructor(description: Record<string, string | undefined>) {
    super(`uploads not stored, retrying: ${description['sqlState'] ?? description['error'] ?? 'unknown'}`);
    this.name = 'UploadsNotStored';
    delete this.stack;
  }
}

export interface UploadProcessing {
  db: Database;
  sealer: Sealer;
  metrics: IngestMetrics;
  logger: Logger;
  /** Concurrent transactions. */
  transactions: number;
}

/**
 * A transaction costs the same for one upload and for hundreds. Waiting this long adds to the time until a reading is
 * visible, but leaves the processor to PUBACKs when the platform is busy (docs/performance.md).
 */
const intervalMs = 40;

/**
 * Creates the processor of the `uploads` queue: batch, decode, store. A failed job is retried until it succeeds; processing
 * a job twice is harmless, because a reading's key is in its data.
 */
export function createUploadProcessor(processing: UploadProcessing): (job: TypedJob<'uploads'>) => Promise<void> {
  const { db, sealer, metrics, logger, transactions } = processing;
  const latestNow = createLatestNow();
  const batches = new BatchStore(db, sealer);
  const batcher = new UploadBatcher({
    transactions,
    intervalMs,
    async store(uploads) {
      const stored = await batches.store(decodeUploads(uploads, latestNow()));
      metrics.readings.inc(stored.readings);
      metrics.quarantined.inc(stored.quarantinedUploads);
    },
  });
  return async ({ data: { uploads, bytes }, priority }) => {
    try {
      await batcher.store({ uploads, bytes, late: priority === lateUploadPriority });
    } catch (error) {
      const description = describeDatabaseError(error);
      logger.warn({ ...description, uploads: uploads.length }, 'uploads not stored, retrying');
      throw new UploadsNotStored(description);
    }
    const oldestMs = uploads.reduce((oldest, { receivedAtMs }) => Math.min(oldest, receivedAtMs), Date.now());
    metrics.lagSeconds.observe(Math.max(0, Date.now() - oldestMs) / 1000);
  };
}
