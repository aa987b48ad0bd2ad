import type { QueuedUpload } from '@odograph/contracts/queues';

/** The uploads of one job. */
export interface UploadJob {
  uploads: readonly QueuedUpload[];
  bytes: number;
  /** Whether they were recorded some time ago. */
  late: boolean;
}

/** One that waits for the transaction that will store it. */
interface WaitingJob extends UploadJob {
  stored(): void;
  failed(error: unknown): void;
}

/** Bytes of uploads that share a transaction; a job is never parted, so a single one may be larger. */
const maximumBytes = 1024 ** 2;
/** Less, so that live uploads never wait for long. */
const maximumLateBytes = 256 * 1024;
/** Jobs taken from the queue for each transaction, since batches can be small; so many do not wait for others. */
export const jobsPerTransaction = 32;

export interface GatherOptions {
  /** Transactions at once; one of them is never taken by late uploads, unless it is the only one. */
  transactions: number;
  /** From the start of a transaction of live uploads to that of the next, unless that one is full; none when undefined. */
  intervalMs?: number;
  store(uploads: readonly QueuedUpload[]): Promise<void>;
}

/**
 * Lets jobs that arrive while others are being stored, or soon after, share the next transaction, as databases do with
 * their own log (group commit): alone, a job is stored at once; under load, what a transaction costs is paid once for many,
 * and leaves the processor to those who answer boxes. Late uploads share their transactions with nobody else, and live ones
 * go first.
 */
export class UploadGatherer {
  readonly #options: GatherOptions;
  #live: WaitingJob[] = [];
  #late: WaitingJob[] = [];
  #underWay = 0;
  #lateUnderWay = 0;
  #liveStartedMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: GatherOptions) {
    this.#options = options;
  }

  /** Resolves when the uploads are stored; rejects when the transaction that they were part of failed. */
  store(job: UploadJob): Promise<void> {
    return new Promise((stored, failed) => {
      (job.late ? this.#late : this.#live).push({ ...job, stored, failed });
      this.#next();
    });
  }

  #next(): void {
    const { transactions } = this.#options;
    if (this.#underWay >= transactions) return;
    if (this.#liveMayStart()) {
      this.#liveStartedMs = performance.now();
      void this.#storeTogether(take(this.#live, maximumBytes));
    } else if (this.#late.length > 0 && this.#lateUnderWay < Math.max(1, transactions - 1)) {
      void this.#storeLate(take(this.#late, maximumLateBytes));
    }
  }

  /** When it is too early, they are looked at again when it is not. */
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
    this.#lateUnderWay += 1;
    await this.#storeTogether(jobs);
    this.#lateUnderWay -= 1;
    this.#next();
  }

  async #storeTogether(jobs: readonly WaitingJob[]): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#options.store(jobs.flatMap(({ uploads }) => uploads));
      for (const job of jobs) job.stored();
    } catch (error) {
      for (const job of jobs) job.failed(error);
    } finally {
      this.#underWay -= 1;
      this.#next();
    }
  }
}

function isFull(waiting: readonly WaitingJob[]): boolean {
  return waiting.length >= jobsPerTransaction || waiting.reduce((total, { bytes }) => total + bytes, 0) >= maximumBytes;
}

/** Takes the first jobs off a list, as many as may share a transaction. */
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
