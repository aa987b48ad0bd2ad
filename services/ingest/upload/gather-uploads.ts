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

export interface GatherOptions {
  /** Transactions at once; one of them is never taken by late uploads, unless it is the only one. */
  transactions: number;
  store(uploads: readonly QueuedUpload[]): Promise<void>;
}

/**
 * Lets jobs that arrive while others are being stored share the next transaction, as databases do with their own log
 * (group commit): alone, a job is stored at once; under load, what a transaction costs is paid once for many. Late uploads
 * share their transactions with nobody else, and live ones go first.
 */
export class UploadGatherer {
  readonly #options: GatherOptions;
  #live: WaitingJob[] = [];
  #late: WaitingJob[] = [];
  #underWay = 0;
  #lateUnderWay = 0;

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
    if (this.#live.length > 0) void this.#storeTogether(take(this.#live, maximumBytes));
    else if (this.#late.length > 0 && this.#lateUnderWay < Math.max(1, transactions - 1)) {
      void this.#storeLate(take(this.#late, maximumLateBytes));
    }
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
