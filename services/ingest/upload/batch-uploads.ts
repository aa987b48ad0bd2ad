import type { QueuedUpload } from '@odograph/contracts/queues';

/** The uploads of one queue job. */
export interface UploadJob {
  uploads: readonly QueuedUpload[];
  bytes: number;
  /** Recorded a while ago (lateUploadPriority). */
  late: boolean;
}

interface WaitingJob extends UploadJob {
  stored(): void;
  failed(error: unknown): void;
}

/** Bytes of uploads in one transaction; a job is never split, so a single one may be larger. */
const maximumBytes = 1024 ** 2;
/** Smaller, so that live uploads never wait long for a connection. */
const maximumLateBytes = 256 * 1024;
/** Queue jobs taken for each transaction, since a job can hold a single upload. This many are stored at once. */
export const jobsPerTransaction = 32;

export interface BatchOptions {
  /** Concurrent transactions. Late uploads leave one of them free, unless it is the only one. */
  transactions: number;
  /** Least time between the starts of two transactions of live uploads; a full batch does not wait. Default 0. */
  intervalMs?: number;
  store(uploads: readonly QueuedUpload[]): Promise<void>;
}

/**
 * Stores jobs together (group commit): a job is stored at once when the database is idle, and shares the next transaction
 * with the others when it is busy. Late uploads have batches of their own, and live ones go first.
 */
export class UploadBatcher {
  readonly #options: BatchOptions;
  #live: WaitingJob[] = [];
  #late: WaitingJob[] = [];
  #inFlight = 0;
  #lateInFlight = 0;
  #liveStartedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  /** Resolves when the uploads are stored; rejects when their transaction failed. */
  store(job: UploadJob): Promise<void> {
    return new Promise((stored, failed) => {
      (job.late ? this.#late : this.#live).push({ ...job, stored, failed });
      this.#next();
    });
  }

  #next(): void {
    const { transactions } = this.#options;
    if (this.#inFlight >= transactions) return;
    if (this.#liveMayStart()) {
      this.#liveStartedMs = performance.now();
      void this.#storeBatch(take(this.#live, maximumBytes));
    } else if (this.#late.length > 0 && this.#lateInFlight < Math.max(1, transactions - 1)) {
      void this.#storeLate(take(this.#late, maximumLateBytes));
    }
  }

  /** Sets a timer when it is too early. */
  #liveMayStart(): boolean {
    if (this.#live.length === 0) return false;
    const waitMs = this.#liveStartedMs + (this.#options.intervalMs ?? 0) - performance.now();
    if (waitMs <= 0 || isFull(this.#live)) return true;
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#next();
      }, waitMs);
    }
    return false;
  }

  async #storeLate(jobs: readonly WaitingJob[]): Promise<void> {
    this.#lateInFlight += 1;
    await this.#storeBatch(jobs);
    this.#lateInFlight -= 1;
    this.#next();
  }

  async #storeBatch(jobs: readonly WaitingJob[]): Promise<void> {
    this.#inFlight += 1;
    try {
      await this.#options.store(jobs.flatMap(({ uploads }) => uploads));
      for (const job of jobs) job.stored();
    } catch (error) {
      for (const job of jobs) job.failed(error);
    } finally {
      this.#inFlight -= 1;
      this.#next();
    }
  }
}

function isFull(waiting: readonly WaitingJob[]): boolean {
  return waiting.length >= jobsPerTransaction || waiting.reduce((total, { bytes }) => total + bytes, 0) >= maximumBytes;
}

/** Removes the jobs of the next batch from a list. */
function take(waiting: WaitingJob[], maximum: number): WaitingJob[] {
  let bytes = 0;
  let count = 0;
  for (const job of waiting) {
    if (count > 0 && bytes + job.bytes > maximum) break;
    bytes += job.bytes;
    count += 1;
  }
  return waiting.splice(0, count);
}
