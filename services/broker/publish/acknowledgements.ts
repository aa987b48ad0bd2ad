import { isUtf8 } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import { addUntilStored, type Backlog } from '@odograph/queue/backlog';
import type { DurableAdd } from '@odograph/queue/queues';
import type { Logger } from '@odograph/runtime/logger';
import type { BrokerMetrics } from '../metrics.ts';
import type { HeldPublication, HeldPublications } from './held-publications.ts';

export const maximumAcknowledgementBytes = 4096;

export interface AcknowledgementIntakeOptions {
  readonly add: DurableAdd<'acknowledgements'>;
  readonly backlog: Backlog;
  readonly held: HeldPublications;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/**
 * Queues acknowledgements for the command service, one job each. One longer than 4 KiB or not UTF-8 is invalid: dropped
 * as if it were stored, since the device would repeat it for ever without a PUBACK.
 */
export class AcknowledgementIntake {
  readonly #options: AcknowledgementIntakeOptions;
  readonly #pending = new Set<Promise<void>>();
  readonly #end = new AbortController();

  constructor(options: AcknowledgementIntakeOptions) {
    this.#options = options;
  }

  /** Queues an acknowledgement and then releases its PUBACK; never, when the broker stops before that. */
  add(acknowledgement: HeldPublication): void {
    const { held, metrics, logger } = this.#options;
    const { payload, publisher } = acknowledgement;
    if (payload.length > maximumAcknowledgementBytes || !isUtf8(payload)) {
      metrics.refused.inc({ reason: 'acknowledgement' });
      logger.warn({ deviceId: publisher.deviceId, bytes: payload.length }, 'invalid acknowledgement dropped');
      held.release(acknowledgement);
      return;
    }
    const stored = this.#store(acknowledgement).finally(() => this.#pending.delete(stored));
    this.#pending.add(stored);
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.race([Promise.all(this.#pending), delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }

  async #store(acknowledgement: HeldPublication): Promise<void> {
    const { add, backlog, held, logger } = this.#options;
    const { publisher, payload, receivedAtMs } = acknowledgement;
    const { deviceId } = publisher;
    const job = { deviceId, receivedAtMs, text: payload.toString() };
    const isStored = await addUntilStored({
      isFull: () => backlog.isMemoryFull,
      add: (jobId) => add(job, { jobId }),
      onFailure: (error) => logger.warn({ err: error, deviceId }, 'acknowledgement not stored in Redis; retrying'),
      signal: this.#end.signal,
    });
    if (isStored) held.release(acknowledgement);
  }
}
