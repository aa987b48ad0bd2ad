import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import type { TypedQueue } from '@odograph/queue/queues';
import type { BrokerMetrics } from '../metrics.ts';
import type { DeviceSession } from '../sessions/session.ts';
import type { ThrottledLog } from '../throttled-log.ts';
import type { Backlog } from './backlog.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { Publication } from './release-order.ts';

export const maximumAcknowledgementBytes = 4096;
const retryMs = 100;

export interface AcknowledgementIntakeOptions {
  readonly queue: TypedQueue<'acknowledgements'>;
  readonly backlog: Backlog;
  readonly held: HeldBytes;
  readonly metrics: BrokerMetrics;
  readonly log: ThrottledLog;
}

/** One acknowledgement between its PUBLISH and its PUBACK. */
export interface HeldAcknowledgement extends Publication {
  readonly session: DeviceSession;
}

/**
 * Queues acknowledgements for the command service, one job each, and releases the PUBACK of each when Redis has it. While
 * Redis does not take it, it is held and tried again. One longer than 4 KiB or not UTF-8 is invalid: dropped with a
 * PUBACK, since the device would repeat it for ever without.
 */
export class AcknowledgementIntake {
  readonly #options: AcknowledgementIntakeOptions;
  /** Until the end of each. */
  readonly #held = new Map<HeldAcknowledgement, Promise<void>>();
  readonly #end = new AbortController();

  constructor(options: AcknowledgementIntakeOptions) {
    this.#options = options;
  }

  get held(): HeldAcknowledgement[] {
    return [...this.#held.keys()];
  }

  accept(acknowledgement: HeldAcknowledgement): void {
    const { payload, session, receivedAtMs } = acknowledgement;
    session.releases.enter(acknowledgement);
    if (payload.length > maximumAcknowledgementBytes || !isUtf8(payload)) {
      this.#options.metrics.refused.inc({ reason: 'acknowledgement' });
      this.#options.log('an acknowledgement was dropped', { deviceId: session.deviceId, bytes: payload.length });
      this.#release(acknowledgement);
      return;
    }
    const job = { deviceId: session.deviceId, receivedAtMs, text: payload.toString() };
    this.#held.set(acknowledgement, this.#keep(acknowledgement, job));
  }

  /** Resolves when everything has its PUBACK, or after `timeoutMs`; the rest stays with its devices. */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.race([Promise.all(this.#held.values()), delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }

  async #keep(acknowledgement: HeldAcknowledgement, job: QueuedAcknowledgement): Promise<void> {
    if (!(await this.#store(job))) return;
    this.#held.delete(acknowledgement);
    this.#release(acknowledgement);
  }

  /** @returns false when the broker stopped before Redis took it */
  async #store(job: QueuedAcknowledgement): Promise<boolean> {
    const jobId = randomUUID();
    while (!(await this.#attempt(job, jobId))) {
      await delay(retryMs, undefined, { signal: this.#end.signal }).catch(() => undefined);
      if (this.#end.signal.aborted) return false;
    }
    return true;
  }

  async #attempt(job: QueuedAcknowledgement, jobId: string): Promise<boolean> {
    const { queue, backlog, log } = this.#options;
    if (backlog.memoryFull) return false;
    try {
      await queue.add('acknowledgements', job, { jobId });
      return true;
    } catch (error) {
      log('Redis did not take an acknowledgement: it is held', { err: error, deviceId: job.deviceId });
      return false;
    }
  }

  #release(acknowledgement: HeldAcknowledgement): void {
    this.#options.held.give(acknowledgement.cost);
    acknowledgement.session.releases.settle(acknowledgement);
  }
}
