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
