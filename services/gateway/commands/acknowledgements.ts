import { setTimeout as delay } from 'node:timers/promises';
import type { AcknowledgementMessage } from '@odograph/contracts/commands';
import { addUntilStored, type Backlog } from '@odograph/queue/backlog';
import type { DurableAdd } from '@odograph/queue/queues';
import type { Logger } from '@odograph/runtime/logger';

/** Characters of a reason that the command service takes. */
const longestReason = 256;

export interface CommandAcknowledgementsOptions {
  readonly add: DurableAdd<'acknowledgements'>;
  readonly backlog: Pick<Backlog, 'isMemoryFull'>;
  readonly logger: Logger;
}

/** Queues what devices answered to commands for the command service, as the broker does. */
export class CommandAcknowledgements {
  readonly #options: CommandAcknowledgementsOptions;
  readonly #pending = new Set<Promise<boolean>>();
  readonly #end = new AbortController();

  constructor(options: CommandAcknowledgementsOptions) {
    this.#options = options;
  }

  /** Queues an acknowledgement, in as many attempts as it takes. */
  add(deviceId: string, { reason, ...acknowledgement }: AcknowledgementMessage): void {
    const { add, backlog, logger } = this.#options;
    const message = { ...acknowledgement, ...(reason !== undefined && { reason: reason.slice(0, longestReason) }) };
    const job = { deviceId, receivedAtMs: Date.now(), text: JSON.stringify(message) };
    const stored = addUntilStored({
      isFull: () => backlog.isMemoryFull,
      add: (jobId) => add(job, { jobId }),
      onFailure: (error) => logger.warn({ err: error, deviceId }, 'acknowledgement not stored in Redis; retrying'),
      signal: this.#end.signal,
    }).finally(() => this.#pending.delete(stored));
    this.#pending.add(stored);
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.race([Promise.all(this.#pending), delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }
}
