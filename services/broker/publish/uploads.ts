import { isUtf8 } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import { lateUploadPriority, type QueuedUpload, type UploadBatch } from '@odograph/contracts/queues';
import type { DurableAdd } from '@odograph/queue/queues';
import { Batcher } from '@odograph/runtime/batcher';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import type { BrokerMetrics } from '../metrics.ts';
import { addUntilStored, type Backlog } from './backlog.ts';
import type { HeldPublication, HeldPublications } from './held-publications.ts';

export interface UploadIntakeOptions {
  readonly add: DurableAdd<'uploads'>;
  readonly backlog: Backlog;
  readonly held: HeldPublications;
  readonly config: Pick<ResolvedConfig, 'UPLOAD_BATCH_MS' | 'UPLOAD_BATCH_SIZE'>;
  readonly metrics: BrokerMetrics;
  readonly logger: Logger;
}

/** Queues the uploads of all connections in batches, one job each; live and late uploads in separate batches. */
export class UploadIntake {
  readonly #options: UploadIntakeOptions;
  readonly #live: Batcher<HeldPublication>;
  readonly #late: Batcher<HeldPublication>;
  readonly #end = new AbortController();

  constructor(options: UploadIntakeOptions) {
    this.#options = options;
    this.#live = this.#createBatcher(liveLane);
    this.#late = this.#createBatcher(lateLane);
  }

  /** Queues an upload and then releases its PUBACK; never, when the broker stops before that. */
  add(upload: HeldPublication): void {
    const { publisher, payload, receivedAtMs, heldSinceMs } = upload;
    // Late uploads count too: a device has one share, whatever it uploads.
    const isLive =
      publisher.throttle.isWithinLiveShare(payload.length, heldSinceMs) && laneOf(payload, receivedAtMs) === liveLane;
    (isLive ? this.#live : this.#late).add(upload);
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    const drained = Promise.all([this.#live.drain(), this.#late.drain()]);
    await Promise.race([drained, delay(timeoutMs, undefined, { ref: false })]);
    this.#end.abort();
  }

  #createBatcher(lane: UploadLane): Batcher<HeldPublication> {
    const { UPLOAD_BATCH_MS, UPLOAD_BATCH_SIZE } = this.#options.config;
    return new Batcher({
      handle: (uploads) => this.#store(lane, uploads),
      maximumItems: UPLOAD_BATCH_SIZE,
      maximumBytes: lane.maximumBatchBytes,
      bytesOf: ({ payload }) => payload.length,
      intervalMs: UPLOAD_BATCH_MS,
      maximumInFlight: lane.maximumBatchesInFlight,
    });
  }

  async #store(lane: UploadLane, uploads: readonly HeldPublication[]): Promise<void> {
    const { add, backlog, held, metrics, logger } = this.#options;
    const isStored = await addUntilStored({
      isFull: () => lane.isFull(backlog),
      add: (jobId) => add(describeBatch(uploads), { jobId, ...lane.jobOptions }),
      onFailure(error) {
        metrics.failedBatches.inc();
        logger.warn({ err: error, uploads: uploads.length }, 'uploads not stored in Redis; retrying');
      },
      signal: this.#end.signal,
    });
    if (!isStored) return;
    metrics.acceptedUploads.inc(uploads.length);
    metrics.batchUploads.observe(uploads.length);
    const now = performance.now();
    for (const upload of uploads) {
      metrics.pubackSeconds.observe((now - upload.heldSinceMs) / 1000);
      held.release(upload);
    }
  }
}

/** Bytes that are UTF-8 as text, others in base64, so that every byte survives JSON. */
function describeBatch(uploads: readonly HeldPublication[]): UploadBatch {
  const devices = new Set<string>();
  let bytes = 0;
  const described = uploads.map(({ publisher: { deviceId }, payload, receivedAtMs }): QueuedUpload => {
    devices.add(deviceId);
    bytes += payload.length;
    return isUtf8(payload)
      ? { deviceId, receivedAtMs, text: payload.toString() }
      : { deviceId, receivedAtMs, base64: payload.toString('base64') };
  });
  return { uploads: described, devices: devices.size, bytes };
}

/** How uploads of one kind enter the queue. */
export interface UploadLane {
  /** BullMQ works jobs without a priority before all that have one. */
  readonly jobOptions: { readonly priority?: number };
  readonly maximumBatchBytes: number;
  /** Enough to keep Redis busy while it writes to disk; more would only hold more memory. */
  readonly maximumBatchesInFlight: number;
  /** Whether uploads of this kind must wait. */
  isFull(backlog: Backlog): boolean;
}

export const liveLane: UploadLane = {
  jobOptions: {},
  maximumBatchBytes: 1024 ** 2,
  maximumBatchesInFlight: 4,
  isFull: (backlog) => backlog.isFull,
};

/** Late uploads wait behind live ones, in jobs small enough not to delay these. */
export const lateLane: UploadLane = {
  jobOptions: { priority: lateUploadPriority },
  maximumBatchBytes: 256 * 1024,
  maximumBatchesInFlight: 2,
  isFull: (backlog) => backlog.isFull || backlog.isLateFull,
};

/** An upload whose last reading is older than this was recorded while the device was offline. */
const lateAfterSeconds = 300;

const timestampKey = Buffer.from('"timestamp"');
const zero = 48;
const nine = 57;
/** Colon and white space (RFC 8259, section 2). */
const between = new Set([58, 32, 9, 10, 13]);

/** The number after the last "timestamp" of a payload, UNIX seconds; undefined when there is none. */
function lastTimestamp(payload: Buffer): number | undefined {
  const key = payload.lastIndexOf(timestampKey);
  if (key === -1) return undefined;
  let at = key + timestampKey.length;
  while (between.has(payload[at] ?? zero)) at += 1;
  let seconds: number | undefined;
  for (let digit = payload[at]; digit !== undefined && digit >= zero && digit <= nine; at += 1, digit = payload[at]) {
    seconds = (seconds ?? 0) * 10 + (digit - zero);
  }
  return seconds;
}

/**
 * Chooses the lane of an upload by its last "timestamp". The bytes are not decoded here, and a wrong guess costs only
 * time.
 */
export function laneOf(payload: Buffer, receivedAtMs: number): UploadLane {
  const seconds = lastTimestamp(payload);
  return seconds !== undefined && seconds < receivedAtMs / 1000 - lateAfterSeconds ? lateLane : liveLane;
}
