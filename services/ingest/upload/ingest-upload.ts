import { lateUploadPriority } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { TypedJob } from '@odograph/queue/queues';
import type { Logger } from '@odograph/runtime/logger';
import type { Sealer } from '@odograph/runtime/sealing';
import { createLatestNow } from '@odograph/runtime/time-of-day';
import type { IngestMetrics } from '../metrics.ts';
import { UploadGatherer } from './batch-uploads.ts';
import { decodeBatch } from './decode-uploads.ts';
import { LinkMemory } from './link-readings.ts';
import { SettlementMemory } from './settlement-memory.ts';
import { storeBatch } from './store-batch.ts';

/** What a job fails with: an error that repeats no value of a reading, since the queue keeps and shows it. */
class UploadsNotStored extends Error {
  constructor(description: Record<string, string | undefined>) {
    super(`the uploads could not be stored yet: ${description['sqlState'] ?? description['error'] ?? 'unknown'}`);
    this.name = 'UploadsNotStored';
    delete this.stack;
  }
}

export interface UploadProcessing {
  db: Database;
  sealer: Sealer;
  metrics: IngestMetrics;
  logger: Logger;
  /** Transactions at once. */
  transactions: number;
}

/**
 * A transaction costs the same for one upload and for hundreds. A reading may be this much later to be read, and at 15,000
 * uploads/s on two cores PUBACKs come sooner, because less is in their way (docs/performance.md).
 */
const intervalMs = 40;

/**
 * Makes the processor of `uploads`: decode, place, store. A job that fails is tried again until it succeeds, and a job
 * that is worked twice changes nothing, because the key is in the data.
 */
export function createUploadProcessor(processing: UploadProcessing): (job: TypedJob<'uploads'>) => Promise<void> {
  const { db, sealer, metrics, logger, transactions } = processing;
  const latestNow = createLatestNow();
  const storage = { db, sealer, links: new LinkMemory(), settlement: new SettlementMemory() };
  const gatherer = new UploadGatherer({
    transactions,
    intervalMs,
    async store(uploads) {
      const stored = await storeBatch(storage, decodeBatch(uploads, latestNow()));
      metrics.readings.inc(stored.readings);
      metrics.quarantined.inc(stored.quarantinedUploads);
    },
  });
  return async ({ data: { uploads, bytes }, priority }) => {
    try {
      await gatherer.store({ uploads, bytes, late: priority === lateUploadPriority });
    } catch (error) {
      const description = describeDatabaseError(error);
      logger.warn({ ...description, uploads: uploads.length }, 'uploads could not be stored yet');
      throw new UploadsNotStored(description);
    }
    const oldestMs = uploads.reduce((oldest, { receivedAtMs }) => Math.min(oldest, receivedAtMs), Date.now());
    metrics.lagSeconds.observe(Math.max(0, Date.now() - oldestMs) / 1000);
  };
}
