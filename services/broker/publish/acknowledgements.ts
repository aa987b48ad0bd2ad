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
import { RecordedAcknowledgements } from './recorded-acknowledgements.ts';
import type { Publication } from './release-order.ts';

export const maximumAcknowledgementBytes = 4096;
const retryMs = 100;
/** How long the command service has for what it does in a few milliseconds, before the queue takes the acknowledgement. */
const recordingMs = 50;

export interface AcknowledgementIntakeOptions {
  readonly queue: TypedQueue<'acknowledgements'>;
  readonly backlog: Backlog;
  readonly held: HeldBytes;
  readonly metrics: BrokerMetrics;
  readonly log: ThrottledLog;
  /** Hands it to the command service, if that listens now. */
  announce(topic: string, payload: Buffer): void;
}

/** One acknowledgement between its PUBLISH and its PUBACK. */
export interface HeldAcknowledgement extends Publication {
  readonly session: DeviceSession;
}

/**
 * Keeps what devices answer to commands: the PUBACK goes when the database or the queue has it. The command service hears
 * it at once, and says so when it has recorded the end of a command that somebody waits for; what it does not say that of
 * in time goes into the queue, one job each. As with uploads, what Redis does not take is held and tried again. An
 * acknowledgement longer than 4 KiB or not UTF-8 can be none: it is acknowledged, so that it does not come back for ever,
 * and dropped.
 */
export class AcknowledgementIntake {
  readonly #options: AcknowledgementIntakeOptions;
  /** Until the end of each. */
  readonly #held = new Map<HeldAcknowledgement, Promise<void>>();
  readonly #recorded = new RecordedAcknowledgements();
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

  /** The command service has recorded what the device said in these words, for ever. */
  noteRecorded(deviceId: string, text: string): void {
    this.#recorded.note(deviceId, text);
  }

  /** Resolves when everything is acknowledged, at the latest after `timeoutMs`; what is left by then is let go. */
  async drain(timeoutMs: number): Promise<void> {
    this.#recorded.giveUp();
    await Promise.race([Promise.all(this.#held.values()), delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }

  async #keep(acknowledgement: HeldAcknowledgement, job: QueuedAcknowledgement): Promise<void> {
    const recorded = this.#recorded.wait(job.deviceId, job.text, recordingMs);
    this.#options.announce(acknowledgement.session.acksTopic, acknowledgement.payload);
    if (!(await recorded) && !(await this.#store(job))) return;
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
