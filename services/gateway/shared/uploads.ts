import { type IntakeShard, lateLane, type ReceivedUpload, UploadIntake, type UploadLane } from '@odograph/queue/intake';
import { HeldByLane } from '@odograph/queue/shards';
import type { Logger } from '@odograph/runtime/logger';
import { Gauge, type Registry } from '@odograph/runtime/metrics';
import type { GatewayMetrics } from './metrics.ts';

interface HeldUpload extends ReceivedUpload {
  /** Monotonic clock. */
  readonly heldSinceMs: number;
  /** Bytes that it counts for, until it is stored. */
  readonly heldBytes: number;
  readonly isLate: boolean;
  resolve(): void;
}

/** Memory of an upload that waits for Redis, apart from its payload. */
const overheadBytes = 512;

/** Limits the bytes that wait in this process, in uploads and in packets that are not complete. */
export class HeldBytes {
  readonly #maximum: number;
  #bytes = 0;

  constructor(maximum: number, registry: Registry) {
    this.#maximum = maximum;
    const bytes = (): number => this.#bytes;
    new Gauge({
      name: 'odograph_gateway_held_bytes',
      help: 'Bytes of uploads that wait for Redis, and of packets that are not complete',
      registers: [registry],
      collect() {
        this.set(bytes());
      },
    });
  }

  /** @returns false when it would exceed the limit; then nothing is counted */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#maximum) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export interface GatewayUploadsOptions {
  readonly shards: readonly IntakeShard[];
  readonly held: HeldBytes;
  readonly maxHeldBytes: number;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/** Stores the uploads of every protocol in the queue. */
export class GatewayUploads {
  readonly #held: HeldBytes;
  readonly #heldByLane: HeldByLane;
  readonly #intake: UploadIntake<HeldUpload>;

  constructor({ held, maxHeldBytes, metrics, ...options }: GatewayUploadsOptions) {
    this.#held = held;
    const heldByLane = new HeldByLane(maxHeldBytes, options.shards.length);
    this.#heldByLane = heldByLane;
    this.#intake = new UploadIntake({
      ...options,
      metrics,
      onStored(uploads) {
        const nowMs = performance.now();
        for (const { deviceId, heldSinceMs, heldBytes, isLate, resolve } of uploads) {
          metrics.acknowledgementSeconds.observe((nowMs - heldSinceMs) / 1000);
          held.release(heldBytes);
          heldByLane.release(deviceId, heldBytes, isLate);
          resolve();
        }
      },
    });
  }

  /**
   * Stores an upload.
   * @returns a promise that resolves once it would survive a crash of every process, and never when the gateway stops
   *   before that; undefined when too many bytes wait already
   */
  store(upload: ReceivedUpload, lane: UploadLane): Promise<void> | undefined {
    const heldBytes = upload.payload.length + overheadBytes;
    const isLate = lane === lateLane;
    if (!this.#heldByLane.reserve(upload.deviceId, heldBytes, isLate)) return undefined;
    if (!this.#held.reserve(heldBytes)) {
      this.#heldByLane.release(upload.deviceId, heldBytes, isLate);
      return undefined;
    }
    return new Promise((resolve) => {
      this.#intake.add({ ...upload, heldSinceMs: performance.now(), heldBytes, isLate, resolve }, lane);
    });
  }

  /** Resolves when everything is stored, or after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void> {
    return this.#intake.drain(timeoutMs);
  }
}
