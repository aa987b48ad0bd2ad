import { setTimeout as delay } from 'node:timers/promises';
import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import type { Logger } from '@odograph/runtime/logger';
import { addUntilStored, type Backlog } from './backlog.ts';
import type { DurableAdd } from './queues.ts';

export interface AcknowledgementIntakeOptions {
  readonly add: DurableAdd<'acknowledgements'>;
  readonly backlog: Pick<Backlog, 'isMemoryFull'>;
  readonly logger: Logger;
}

/** Queues what devices answered to commands for the command service, one job each. */
export class AcknowledgementIntake {
  readonly #options: AcknowledgementIntakeOptions;
  readonly #pending = new Set<Promise<boolean>>();
  readonly #end = new AbortController();

  constructor(options: AcknowledgementIntakeOptions) {
    this.#options = options;
  }

  /** Queues an acknowledgement, in as many attempts as it takes. @returns false when the intake ended before it was stored */
  add(acknowledgement: QueuedAcknowledgement): Promise<boolean> {
    const { add, backlog, logger } = this.#options;
    const { deviceId } = acknowledgement;
    const stored = addUntilStored({
      isFull: () => backlog.isMemoryFull,
      add: (jobId) => add(acknowledgement, { jobId }),
      onFailure: (error) => logger.warn({ err: error, deviceId }, 'acknowledgement not stored in Redis; retrying'),
      signal: this.#end.signal,
    }).finally(() => this.#pending.delete(stored));
    this.#pending.add(stored);
    return stored;
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.race([Promise.all(this.#pending), delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }
}
