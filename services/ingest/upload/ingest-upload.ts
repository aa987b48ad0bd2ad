import type { Database } from '@odograph/database/database';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { TypedJob } from '@odograph/queue/queues';
import type { Logger } from '@odograph/runtime/logger';
import type { Sealer } from '@odograph/runtime/sealing';
import type { IngestMetrics } from '../metrics.ts';
import { decodeBatch } from './decode-batch.ts';
import { storeBatch } from './store-batch.ts';

/** What a job fails with: an error that repeats no value of a reading, since the queue keeps and shows it. */
class UploadsNotStored extends Error {
  constructor(description: Record<string, string | undefined>) {
    super(`the uploads could not be stored yet: ${description['sqlState'] ?? description['error'] ?? 'unknown'}`);
    this.name = 'UploadsNotStored';
    delete this.stack;
  }
}

/**
 * Makes the processor of `uploads`: decode, place, store. A job that fails is tried again until it succeeds, and a job
 * that is worked twice changes nothing, because the key is in the data.
 */
export function createUploadProcessor(
  db: Database,
  sealer: Sealer,
  metrics: IngestMetrics,
  logger: Logger,
): (job: TypedJob<'uploads'>) => Promise<void> {
  return async ({ data: { uploads } }) => {
    try {
      const stored = await storeBatch(db, sealer, decodeBatch(uploads, Date.now()));
      metrics.readings.inc(stored.readings);
      metrics.quarantined.inc(stored.quarantinedUploads);
    } catch (error) {
      const description = describeDatabaseError(error);
      logger.warn({ ...description, uploads: uploads.length }, 'uploads could not be stored yet');
      throw new UploadsNotStored(description);
    }
    const now = Date.now();
    for (const { receivedAtMs } of uploads) metrics.lagSeconds.observe(Math.max(0, now - receivedAtMs) / 1000);
  };
}
