import type { QueuedUpload } from '@odograph/contracts/queues';

/** The uploads of one job, waiting for the transaction that will store them. */
interface WaitingJob {
  uploads: readonly QueuedUpload[];
  bytes: number;
  stored(): void;
  failed(error: unknown): void;
}

/** Bytes of uploads that share a transaction; a job is never parted, so a single one may be larger. */
const maximumBytes = 1024 ** 2;

export interface GatherOptions {
  /** Transactions at once. */
  transactions: number;
  store(uploads: readonly QueuedUpload[]): Promise<void>;
}

/**
 * Lets jobs that arrive while others are being stored share the next transaction, as databases do with their own log
 * (group commit): alone, a job is stored at once; under load, what a transaction costs is paid once for many.
 */
export class UploadGatherer {
  readonly #options: GatherOptions;
  #waiting: WaitingJob[] = [];
  #underWay = 0;

  constructor(options: GatherOptions) {
    this.#options = options;
  }

  /** Resolves when the uploads are stored; rejects when the transaction that they were part of failed. */
  store(uploads: readonly QueuedUpload[], bytes: number): Promise<void> {
    return new Promise((stored, failed) => {
      this.#waiting.push({ uploads, bytes, stored, failed });
      this.#next();
    });
  }

  #take(): WaitingJob[] {
    let bytes = 0;
    let count = 0;
    for (const job of this.#waiting) {
      if (count > 0 && bytes + job.bytes > maximumBytes) break;
      bytes += job.bytes;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  #next(): void {
    if (this.#underWay >= this.#options.transactions || this.#waiting.length === 0) return;
    this.#underWay += 1;
    void this.#storeTogether(this.#take());
  }

  async #storeTogether(jobs: readonly WaitingJob[]): Promise<void> {
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
