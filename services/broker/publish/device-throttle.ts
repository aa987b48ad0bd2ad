import type { EventEmitter } from 'node:events';

/** Burst size, in seconds of a device's rates. */
const burstSeconds = 10;
/** Part of a device's bytes per second that it may upload into the live lane; with the default rate, 16 KiB/s. */
const liveShare = 1 / 32;
/** Burst size in the live lane, in seconds of that share. */
const liveBurstSeconds = 4;

export interface DeviceRates {
  readonly uploadsPerSecond: number;
  readonly bytesPerSecond: number;
}

/** A token bucket that may go into debt: a received upload is accepted, and the next one waits. Monotonic times in ms. */
class TokenBucket {
  readonly #perSecond: number;
  readonly #capacity: number;
  #tokens: number;
  #updatedAtMs: number;

  constructor(perSecond: number, capacity: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#capacity = capacity;
    this.#tokens = capacity;
    this.#updatedAtMs = nowMs;
  }

  take(tokens: number, nowMs: number): void {
    this.#tokens = this.#at(nowMs) - tokens;
    this.#updatedAtMs = nowMs;
  }

  /** Takes the tokens, or all there are. @returns whether there were enough */
  takeWithoutDebt(tokens: number, nowMs: number): boolean {
    this.take(tokens, nowMs);
    const wasEnough = this.#tokens >= 0;
    this.#tokens = Math.max(0, this.#tokens);
    return wasEnough;
  }

  /** Milliseconds until the debt is paid; 0 without one. */
  debtMs(nowMs: number): number {
    return Math.max(0, (-this.#at(nowMs) / this.#perSecond) * 1000);
  }

  /** Milliseconds until the bucket is full. */
  fullInMs(nowMs: number): number {
    return ((this.#capacity - this.#at(nowMs)) / this.#perSecond) * 1000;
  }

  #at(nowMs: number): number {
    const added = ((nowMs - this.#updatedAtMs) / 1000) * this.#perSecond;
    return Math.min(this.#capacity, this.#tokens + added);
  }
}

/** Counts the uploads and bytes of one device, over all its connections. */
export class DeviceThrottle {
  readonly #now: () => number;
  readonly #uploads: TokenBucket;
  readonly #bytes: TokenBucket;
  readonly #liveBytes: TokenBucket;

  /** @param now monotonic time in ms */
  constructor({ uploadsPerSecond, bytesPerSecond }: DeviceRates, now = (): number => performance.now()) {
    const nowMs = now();
    const liveBytesPerSecond = bytesPerSecond * liveShare;
    this.#now = now;
    this.#uploads = new TokenBucket(uploadsPerSecond, uploadsPerSecond * burstSeconds, nowMs);
    this.#bytes = new TokenBucket(bytesPerSecond, bytesPerSecond * burstSeconds, nowMs);
    this.#liveBytes = new TokenBucket(liveBytesPerSecond, liveBytesPerSecond * liveBurstSeconds, nowMs);
  }

  takeUpload(): void {
    this.#uploads.take(1, this.#now());
  }

  takeBytes(bytes: number): void {
    this.#bytes.take(bytes, this.#now());
  }

  /**
   * Counts an upload in the device's share of the live lane. Without debt, so that the device is live again as soon as it
   * slows down.
   * @returns false when it exceeds the share: the upload takes the late lane and delays only its own device
   */
  isWithinLiveShare(bytes: number): boolean {
    return this.#liveBytes.takeWithoutDebt(bytes, this.#now());
  }

  /** Milliseconds for which nothing more may be read from the device; 0 when it is within its rates. */
  waitMs(): number {
    const nowMs = this.#now();
    return Math.max(this.#uploads.debtMs(nowMs), this.#bytes.debtMs(nowMs));
  }

  fullInMs(): number {
    const nowMs = this.#now();
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
