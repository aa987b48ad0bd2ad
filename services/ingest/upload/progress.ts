import type { TypedJob, TypedQueue } from '@odograph/queue/queues';

/** Tracks how long live uploads wait to be stored. */
export class DelayedUploads {
  readonly #queue: TypedQueue<'uploads'>;
  /** Wall-clock time since which each job of this process has been waiting. */
  readonly #processing = new Map<string, number>();

  constructor(queue: TypedQueue<'uploads'>) {
    this.#queue = queue;
  }

  /** Call it for every attempt: a failed job is still waiting. */
  started({ id = '', timestamp }: TypedJob<'uploads'>): void {
    this.#processing.set(id, timestamp);
  }

  stored({ id = '' }: TypedJob<'uploads'>): void {
    this.#processing.delete(id);
  }

  /** Returns the age of the oldest upload in ms: of this process, or waiting in the queue. 0 without uploads. */
  async oldestAgeMs(): Promise<number> {
    const [waiting] = await this.#queue.getJobs(['wait'], 0, 0, true);
    const since = [...this.#processing.values(), ...(waiting ? [waiting.timestamp] : [])];
    return since.reduce((oldest, one) => Math.max(oldest, Date.now() - one), 0);
  }
}

const sampleMs = 1000;
/** Longer than a transaction takes; with the interval of samples, /health fails within 15 s. */
const stallMs = 10_000;

const refusals: Readonly<Record<string, string>> = {
  '25006': 'the database is read-only (SQLSTATE 25006)',
  '53100': 'the disk of the database is full (SQLSTATE 53100)',
};

/** Detects a stall, in which uploads wait and none is stored; a shrinking backlog and an idle queue are no stall. */
export class StorageProgress {
  readonly #timer: NodeJS.Timeout;
  #advancedAtMs = performance.now();
  #reason: string | undefined;

  /** @param countWaiting counts the jobs that are not stored; while Redis cannot tell, nothing counts as stalled */
  constructor(countWaiting: () => Promise<number>) {
    const sample = async (): Promise<void> => {
      if ((await countWaiting().catch(() => 0)) === 0) this.#advance();
    };
    this.#timer = setInterval(() => void sample(), sampleMs);
  }

  /** Records that a transaction with uploads was committed, quarantined ones included. */
  stored(): void {
    this.#advance();
  }

  /** Records why uploads could not be stored. */
  failed({ sqlState, error }: Readonly<Record<string, string | undefined>>): void {
    this.#reason = sqlState === undefined ? error : (refusals[sqlState] ?? `SQLSTATE ${sqlState}`);
  }

  /** Seconds since the last progress while uploads are waiting. */
  get stalledSeconds(): number {
    return (performance.now() - this.#advancedAtMs) / 1000;
  }

  /** Describes the stall; undefined while uploads are stored or none waits. */
  get fault(): string | undefined {
    if (this.stalledSeconds * 1000 < stallMs) return undefined;
    const fact = `uploads wait and none has been stored for ${Math.floor(this.stalledSeconds)} s`;
    return this.#reason === undefined ? fact : `${fact}: ${this.#reason}`;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #advance(): void {
    this.#advancedAtMs = performance.now();
    this.#reason = undefined;
  }
}
