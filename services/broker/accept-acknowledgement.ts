import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { QueuedAcknowledgement } from '@odograph/contracts/queues';
import type { TypedQueue } from '@odograph/queue/queues';
import type { Backlog } from './backlog.ts';
import type { HeldBytes } from './held-bytes.ts';
import type { BrokerMetrics } from './metrics.ts';
import type { QuietLog } from './quiet-log.ts';
import type { Publication } from './release-order.ts';
import type { DeviceSession } from './sessions.ts';

export const maximumAcknowledgementBytes = 4096;
const retryMs = 100;

export interface AcceptAcknowledgementOptions {
  readonly queue: TypedQueue<'acknowledgements'>;
  readonly backlog: Backlog;
  readonly held: HeldBytes;
  readonly metrics: BrokerMetrics;
  readonly log: QuietLog;
  /** Tells who waits for it at once, as well as that can be done; what counts is the queue. */
  announce(topic: string, payload: Buffer): void;
}

/** One acknowledgement between its PUBLISH and its PUBACK. */
export interface HeldAcknowledgement extends Publication {
  readonly session: DeviceSession;
}

/**
 * Takes what devices answer to commands into the queue: at once, since somebody waits for it, and one job each. The command
 * service hears it at the same time, so that nobody waits for the disk of Redis and a turn of the queue; a repeated
 * acknowledgement changes nothing. As with uploads, the PUBACK goes when Redis has it, and what Redis does not take is held and tried again. An acknowledgement
 * longer than 4 KiB or not UTF-8 can be none: it is acknowledged, so that it does not come back for ever, and dropped.
 */
export class AcknowledgementAcceptor {
  readonly #options: AcceptAcknowledgementOptions;
  readonly #held = new Set<HeldAcknowledgement>();
  readonly #end = new AbortController();

  constructor(options: AcceptAcknowledgementOptions) {
    this.#options = options;
  }

  get held(): HeldAcknowledgement[] {
    return [...this.#held];
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
    this.#held.add(acknowledgement);
    const { deviceId } = session;
    this.#options.announce(session.acksTopic, payload);
    void this.#store(acknowledgement, { deviceId, receivedAtMs, text: payload.toString() });
  }

  /** Lets go what is still held. */
  stop(): void {
    this.#end.abort();
  }

  async #store(acknowledgement: HeldAcknowledgement, job: QueuedAcknowledgement): Promise<void> {
    const jobId = randomUUID();
    while (!(await this.#attempt(job, jobId))) {
      await delay(retryMs, undefined, { signal: this.#end.signal }).catch(() => undefined);
      if (this.#end.signal.aborted) return;
    }
    this.#held.delete(acknowledgement);
    this.#release(acknowledgement);
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
