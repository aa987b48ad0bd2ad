import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { TypedQueue } from '@odograph/queue/queues';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { BrokerMetrics } from '../metrics.ts';
import type { ThrottledLog } from '../throttled-log.ts';
import type { Backlog } from './backlog.ts';
import type { HeldBytes } from './held-bytes.ts';
import { describeBatch, type HeldUpload } from './upload-batch.ts';
import type { UploadLane } from './upload-lanes.ts';

const retryMs = 100;

export interface UploadIntakeOptions {
  readonly queue: TypedQueue<'uploads'>;
  readonly lane: UploadLane;
  readonly backlog: Backlog;
  readonly held: HeldBytes;
  readonly config: ResolvedConfig;
  readonly metrics: BrokerMetrics;
  readonly log: ThrottledLog;
}

/**
 * Takes the uploads of one lane, of all connections, into the queue in micro-batches, one job each, and releases their PUBACKs when Redis
 * has answered: with `appendfsync always`, when they are on its disk.
 *
 * The first upload after a pause leaves with whatever the same turn of the event loop brings; after it a batch leaves
 * when it is full, or UPLOAD_BATCH_MS after the one before. A batch that Redis does not take stays as it is, under its
 * own job id, and is tried again: an attempt that did reach Redis is not doubled. While the backlog is over its bound
 * nothing is tried.
 */
export class UploadIntake {
  readonly #options: UploadIntakeOptions;
  readonly #batchesInFlight = new Set<readonly HeldUpload[]>();
  readonly #end = new AbortController();
  #gathered: HeldUpload[] = [];
  #gatheredBytes = 0;
  #lastSentMs = Number.NEGATIVE_INFINITY;
  #scheduled = false;
  #idle: (() => void) | undefined;

  constructor(options: UploadIntakeOptions) {
    this.#options = options;
  }

  /** Everything without a PUBACK. */
  get held(): HeldUpload[] {
    return [...this.#batchesInFlight, this.#gathered].flat();
  }

  accept(upload: HeldUpload): void {
    upload.session.releases.enter(upload);
    this.#gathered.push(upload);
    this.#gatheredBytes += upload.payload.length;
    this.#schedule();
  }

  /** Resolves when everything is acknowledged, at the latest after `timeoutMs`; what is left by then is let go. */
  async drain(timeoutMs: number): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    this.#send();
    if (this.held.length > 0) await Promise.race([idle, delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }

  get #full(): boolean {
    return (
      this.#gathered.length >= this.#options.config.UPLOAD_BATCH_SIZE ||
      this.#gatheredBytes >= this.#options.lane.maximumBatchBytes
    );
  }

  #schedule(): void {
    if (this.#full) this.#send();
    if (this.#scheduled || this.#gathered.length === 0) return;
    this.#scheduled = true;
    const waitMs = this.#lastSentMs + this.#options.config.UPLOAD_BATCH_MS - performance.now();
    const send = (): void => {
      this.#scheduled = false;
      this.#send();
    };
    if (waitMs > 0) setTimeout(send, waitMs);
    else setImmediate(send);
  }

  #send(): void {
    let due = true;
    while (
      (due || this.#full) &&
      this.#gathered.length > 0 &&
      this.#batchesInFlight.size < this.#options.lane.maximumBatchesInFlight
    ) {
      due = false;
      this.#lastSentMs = performance.now();
      void this.#store(this.#takeBatch());
    }
  }

  #takeBatch(): HeldUpload[] {
    let bytes = 0;
    let count = 0;
    for (const { payload } of this.#gathered) {
      if (
        count === this.#options.config.UPLOAD_BATCH_SIZE ||
        (count > 0 && bytes + payload.length > this.#options.lane.maximumBatchBytes)
      ) {
        break;
      }
      count += 1;
      bytes += payload.length;
    }
    this.#gatheredBytes -= bytes;
    if (count < this.#gathered.length) return this.#gathered.splice(0, count);
    const batch = this.#gathered;
    this.#gathered = [];
    return batch;
  }

  async #store(batch: readonly HeldUpload[]): Promise<void> {
    this.#batchesInFlight.add(batch);
    const jobId = randomUUID();
    while (!(await this.#attempt(batch, jobId))) {
      await delay(retryMs, undefined, { signal: this.#end.signal }).catch(() => undefined);
      if (this.#end.signal.aborted) return;
    }
    this.#batchesInFlight.delete(batch);
    this.#acknowledge(batch);
    if (this.#gathered.length > 0) this.#schedule();
    else if (this.#batchesInFlight.size === 0) this.#idle?.();
  }

  async #attempt(batch: readonly HeldUpload[], jobId: string): Promise<boolean> {
    const { queue, lane, backlog, metrics, log } = this.#options;
    if (lane.full(backlog)) return false;
    try {
      await queue.add('uploads', describeBatch(batch), {
        jobId,
        ...(lane.priority !== undefined && { priority: lane.priority }),
      });
      return true;
    } catch (error) {
      metrics.failedBatches.inc();
      log('Redis did not take a batch of uploads: it is held', { err: error, uploads: batch.length });
      return false;
    }
  }

  #acknowledge(batch: readonly HeldUpload[]): void {
    const { held, metrics } = this.#options;
    const now = performance.now();
    let bytes = 0;
    for (const upload of batch) {
      bytes += upload.cost;
      metrics.pubackSeconds.observe((now - upload.heldSinceMs) / 1000);
      upload.session.releases.settle(upload);
    }
    held.give(bytes);
    metrics.acceptedUploads.inc(batch.length);
    metrics.batchUploads.observe(batch.length);
  }
}
