import type { EventEmitter } from 'node:events';

/** Burst size, in seconds of a device's rates. */
const burstSeconds = 10;

export interface DeviceRates {
  readonly uploadsPerSecond: number;
  readonly bytesPerSecond: number;
}

/** A token bucket that may go into debt: a received upload is accepted, and the next one waits. Monotonic times in ms. */
class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #updatedAtMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond * burstSeconds;
    this.#updatedAtMs = nowMs;
  }

  take(tokens: number, nowMs: number): void {
    this.#tokens = this.#at(nowMs) - tokens;
    this.#updatedAtMs = nowMs;
  }

  /** Milliseconds until the debt is paid; 0 without one. */
  debtMs(nowMs: number): number {
    return Math.max(0, (-this.#at(nowMs) / this.#perSecond) * 1000);
  }

  /** Milliseconds until the bucket is full. */
  fullInMs(nowMs: number): number {
    return ((this.#perSecond * burstSeconds - this.#at(nowMs)) / this.#perSecond) * 1000;
  }

  #at(nowMs: number): number {
    const added = ((nowMs - this.#updatedAtMs) / 1000) * this.#perSecond;
    return Math.min(this.#perSecond * burstSeconds, this.#tokens + added);
  }
}

/** Counts the uploads and bytes of one device, over all its connections. */
export class DeviceThrottle {
  readonly #uploads: TokenBucket;
  readonly #bytes: TokenBucket;

  constructor({ uploadsPerSecond, bytesPerSecond }: DeviceRates) {
    const nowMs = performance.now();
    this.#uploads = new TokenBucket(uploadsPerSecond, nowMs);
    this.#bytes = new TokenBucket(bytesPerSecond, nowMs);
  }

  takeUpload(): void {
    this.#uploads.take(1, performance.now());
  }

  takeBytes(bytes: number): void {
    this.#bytes.take(bytes, performance.now());
  }

  /** Milliseconds for which nothing more may be read from the device; 0 when it is within its rates. */
  waitMs(): number {
    const nowMs = performance.now();
    return Math.max(this.#uploads.debtMs(nowMs), this.#bytes.debtMs(nowMs));
  }

  fullInMs(): number {
    const nowMs = performance.now();
    return Math.max(this.#uploads.fullInMs(nowMs), this.#bytes.fullInMs(nowMs));
  }
}

interface Entry {
  readonly throttle: DeviceThrottle;
  connections: number;
}

/** Keeps the throttle of each connected device, and after its connection until it has nothing to remember. */
export class DeviceThrottles {
  readonly #rates: DeviceRates;
  readonly #throttles = new Map<string, Entry>();

  constructor(rates: DeviceRates) {
    this.#rates = rates;
  }

  /** The throttle of a device, for one of its connections until that closes. */
  acquire(deviceId: string, connection: EventEmitter): DeviceThrottle {
    let entry = this.#throttles.get(deviceId);
    if (entry === undefined) {
      entry = { throttle: new DeviceThrottle(this.#rates), connections: 0 };
      this.#throttles.set(deviceId, entry);
    }
    entry.connections += 1;
    connection.once('close', () => {
      entry.connections -= 1;
      this.#forgetWhenFull(deviceId, entry);
    });
    return entry.throttle;
  }

  #forgetWhenFull(deviceId: string, entry: Entry): void {
    if (entry.connections > 0) return;
    const waitMs = entry.throttle.fullInMs();
    if (waitMs > 0) setTimeout(() => this.#forgetWhenFull(deviceId, entry), waitMs).unref();
    else if (this.#throttles.get(deviceId) === entry) this.#throttles.delete(deviceId);
  }
}
