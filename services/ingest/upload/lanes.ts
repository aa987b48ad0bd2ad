import type { QueuedUpload, UploadBatch } from '@odograph/contracts/queues';
import { BatchSlots, CallBatcher } from '@odograph/runtime/batcher';
import { senderOf } from './quarantine.ts';

/** Queue jobs taken for each batch, since a job can hold a single upload. */
export const jobsPerBatch = 32;
/** Bytes of uploads in one batch. */
const maxBatchBytes = 1024 ** 2;
/** Smaller, so that live uploads rarely wait long for a late batch; large enough to be divided into two transactions. */
const maxLateBatchBytes = 512 * 1024;
/**
 * A transaction costs the same for one upload and for hundreds. Waiting this long adds to the time until a reading is
 * visible, but leaves the processor to PUBACKs when the platform is busy (docs/performance.md).
 */
const intervalMs = 40;
/** Concurrent batches of a process: waiting jobs share the next one, and late uploads always leave one free. */
export const concurrentBatches = 2;
/** Late jobs taken for each batch. */
export const lateJobsPerBatch = 4;

export interface StoredUploads {
  /** Settles once the batch is stored and its moved uploads are queued. Its jobs wait for it; the next batch does not. */
  readonly announced: Promise<void>;
  /** Uploads that are not stored, because a chunk is being compressed. */
  readonly postponed: readonly QueuedUpload[];
}

/** Adds uploads to the tail of the late queue; if `isNext`, to its head. */
export type QueueLate = (uploads: readonly QueuedUpload[], options: { isNext: boolean }) => Promise<void>;

/**
 * Batches live and late uploads apart. Live ones take a free slot first, and late ones always leave one free.
 *
 * A live batch moves uploads that would delay the others to the late queue: those of devices whose late uploads are being
 * stored, because it would wait for their row locks, and those with old readings while a chunk is being compressed. Their
 * jobs are then complete, so a device that sends many of them occupies no worker.
 * @param store stores uploads of a batch; the jobs identify the batch across attempts
 */
export function createLanes(
  store: (jobs: readonly UploadBatch[], uploads: readonly QueuedUpload[]) => Promise<StoredUploads>,
  queueLate: QueueLate,
) {
  const inFlight = new Set<UploadBatch>();
  /** Postponed uploads of late jobs. A retry stores only these: storing the others again would count quarantined ones twice. */
  const postponedOf = new WeakMap<UploadBatch, readonly QueuedUpload[]>();
  const leftOf = (job: UploadBatch) => postponedOf.get(job) ?? job.uploads;
  const common = {
    slots: new BatchSlots(concurrentBatches),
    bytesOf: ({ bytes }: UploadBatch) => bytes,
    maximumItems: jobsPerBatch,
  };
  const live = new CallBatcher({
    ...{ ...common, maximumBytes: maxBatchBytes, intervalMs, maximumInFlight: concurrentBatches },
    async handle(jobs: readonly UploadBatch[]) {
      const uploads = jobs.flatMap((job) => job.uploads);
      // A source that names a device of another application locks none of its rows.
      const senders = new Set([...inFlight].flatMap((job) => leftOf(job).map((upload) => senderOf({ upload }))));
      const isBehind = (upload: QueuedUpload) => senders.has(senderOf({ upload }));
      const behind = uploads.filter(isBehind);
      const ahead = behind.length === 0 ? uploads : uploads.filter((upload) => !isBehind(upload));
      const stored = await store(jobs, ahead);
      // The next batch does not wait: with a Redis without durable storage, they are queued only once they are stored.
      // At the head: behind a long late queue, the latest state of the device would be stale until the queue is stored.
      const moved = [queueLate(behind, { isNext: true }), queueLate(stored.postponed, { isNext: false })];
      return { ...stored, announced: Promise.all([stored.announced, ...moved]).then(() => undefined) };
    },
  });
  const late = new CallBatcher({
    ...{ ...common, maximumBytes: maxLateBatchBytes, maximumInFlight: concurrentBatches - 1 },
    async handle(jobs: readonly UploadBatch[]) {
      const uploads = jobs.flatMap(leftOf);
      for (const job of jobs) inFlight.add(job);
      try {
        return await store(jobs, uploads);
      } finally {
        for (const job of jobs) inFlight.delete(job);
      }
    },
  });
  return {
    live: (job: UploadBatch): Promise<StoredUploads> => live.call(job),
    /** @throws Error if uploads were postponed: a retry has a back-off, a new job would be taken again at once */
    async late(job: UploadBatch): Promise<StoredUploads> {
      const stored = await late.call(job);
      const postponed = new Set(stored.postponed);
      const left = job.uploads.filter((upload) => postponed.has(upload));
      if (left.length === 0) return stored;
      await stored.announced;
      postponedOf.set(job, left);
      throw new Error('a week of readings is being compressed');
    },
  };
}
