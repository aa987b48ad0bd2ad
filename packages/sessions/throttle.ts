import { EventEmitter } from 'node:events';

/**
 * A token bucket that may go into debt: what has arrived is accepted, and what comes next waits. It holds seconds of its
 * rate, so that a change of the rate keeps its level. Monotonic times in ms.
 */
export class TokenBucket {
  /** Tokens added per second. */
  perSecond: number;
  readonly #capacitySeconds: number;
  #seconds: number;
  #updatedAtMs: number;

  constructor(perSecond: number, capacitySeconds: number, nowMs: number) {
    this.perSecond = perSecond;
    this.#capacitySeconds = capacitySeconds;
    this.#seconds = capacitySeconds;
    this.#updatedAtMs = nowMs;
  }

  take(tokens: number, nowMs: number): void {
    this.#seconds = this.#at(nowMs) - tokens / this.perSecond;
    this.#updatedAtMs = nowMs;
  }

  /** Takes the tokens, or all there are. @returns whether there were enough */
  takeWithoutDebt(tokens: number, nowMs: number): boolean {
    this.take(tokens, nowMs);
    const wasEnough = this.#seconds >= 0;
    this.#seconds = Math.max(0, this.#seconds);
    return wasEnough;
  }

  /** Takes the tokens, up to a debt of `maximumDebtSeconds`. @returns whether the debt stays within that */
  takeWithinDebt(tokens: number, maximumDebtSeconds: number, nowMs: number): boolean {
    this.take(tokens, nowMs);
    const isWithin = this.#seconds >= -maximumDebtSeconds;
    this.#seconds = Math.max(-maximumDebtSeconds, this.#seconds);
    return isWithin;
  }

  /** Milliseconds until the debt is paid; 0 without one. */
  debtMs(nowMs: number): number {
    return Math.max(0, -this.#at(nowMs) * 1000);
  }

  /** Milliseconds until the bucket is full. */
  fullInMs(nowMs: number): number {
    return (this.#capacitySeconds - this.#at(nowMs)) * 1000;
  }

  #at(nowMs: number): number {
    return Math.min(this.#capacitySeconds, this.#seconds + (nowMs - this.#updatedAtMs) / 1000);
  }
}

/** Burst size, in seconds of a device's rates. */
const burstSeconds = 10;
/** Minimum rate of packets other than uploads. They have the rate of uploads, since each upload at QoS 2 needs one. */
const minimumPacketsPerSecond = 10;
/** Debt in packets up to which a device is only delayed, in seconds of their rate. */
const maximumPacketDebtSeconds = 20;
/** Part of a device's bytes per second that it may upload into the live lane; with the default rate, 16 KiB/s. */
const liveShare = 1 / 32;
/** Burst size in the live lane, in seconds of that share. */
const liveBurstSeconds = 4;

export interface DeviceRates {
  readonly uploadsPerSecond: number;
  readonly bytesPerSecond: number;
}

/** Counts the uploads, other packets and bytes of one device, over all its connections. Monotonic times in ms. */
export class DeviceThrottle {
  readonly #uploads: TokenBucket;
  readonly #packets: TokenBucket;
  readonly #bytes: TokenBucket;
  readonly #liveBytes: TokenBucket;

  constructor({ uploadsPerSecond, bytesPerSecond }: DeviceRates, nowMs: number) {
    this.#uploads = new TokenBucket(uploadsPerSecond, burstSeconds, nowMs);
    this.#packets = new TokenBucket(packetsPerSecond(uploadsPerSecond), burstSeconds, nowMs);
    this.#bytes = new TokenBucket(bytesPerSecond, burstSeconds, nowMs);
    this.#liveBytes = new TokenBucket(bytesPerSecond * liveShare, liveBurstSeconds, nowMs);
  }

  changeRates({ uploadsPerSecond, bytesPerSecond }: DeviceRates): void {
    this.#uploads.perSecond = uploadsPerSecond;
    this.#packets.perSecond = packetsPerSecond(uploadsPerSecond);
    this.#bytes.perSecond = bytesPerSecond;
    this.#liveBytes.perSecond = bytesPerSecond * liveShare;
  }

  takeUpload(nowMs: number): void {
    this.#uploads.take(1, nowMs);
  }

  /** Counts packets other than uploads. @returns false when they exceed the rate so far that the session must end */
  takePackets(packets: number, nowMs: number): boolean {
    return this.#packets.takeWithinDebt(packets, maximumPacketDebtSeconds, nowMs);
  }

  takeBytes(bytes: number, nowMs: number): void {
    this.#bytes.take(bytes, nowMs);
  }

  /**
   * Counts an upload in the device's share of the live lane. Without debt, so that the device is live again as soon as it
   * slows down.
   * @returns false when it exceeds the share: the upload takes the late lane and delays only its own device
   */
  isWithinLiveShare(bytes: number, nowMs: number): boolean {
    return this.#liveBytes.takeWithoutDebt(bytes, nowMs);
  }

  /** Milliseconds for which nothing more may be read from the device; 0 when it is within its rates. */
  waitMs(nowMs: number): number {
    return Math.max(this.#uploads.debtMs(nowMs), this.#packets.debtMs(nowMs), this.#bytes.debtMs(nowMs));
  }

  fullInMs(nowMs: number): number {
    return Math.max(this.#uploads.fullInMs(nowMs), this.#packets.fullInMs(nowMs), this.#bytes.fullInMs(nowMs));
  }
}

function packetsPerSecond(uploadsPerSecond: number): number {
  return Math.max(uploadsPerSecond, minimumPacketsPerSecond);
}

interface Entry {
  readonly throttle: DeviceThrottle;
  connections: number;
}

/** Keeps the throttle of each connected device, and after its connection until it has nothing to remember. */
export class DeviceThrottles {
  readonly #rates: DeviceRates;
  readonly #throttles = new Map<string, Entry>();

  /** @param rates of devices whose application sets none */
  constructor(rates: DeviceRates) {
    this.#rates = rates;
  }

  /**
   * The throttle of a device, for one of its connections until that closes.
   * @param rates that the application of the device sets; they apply from here on
   */
  acquire(deviceId: string, rates: Partial<DeviceRates>, connection: EventEmitter): DeviceThrottle {
    const ownRates = { ...this.#rates, ...rates };
    let entry = this.#throttles.get(deviceId);
    if (entry === undefined) {
      entry = { throttle: new DeviceThrottle(ownRates, performance.now()), connections: 0 };
      this.#throttles.set(deviceId, entry);
    } else entry.throttle.changeRates(ownRates);
    entry.connections += 1;
    connection.once('close', () => {
      entry.connections -= 1;
      this.#forgetWhenFull(deviceId, entry);
    });
    return entry.throttle;
  }

  /** The throttle of a device that uploads in datagrams, without a connection. */
  forDatagram(deviceId: string, rates: Partial<DeviceRates>): DeviceThrottle {
    const connection = new EventEmitter();
    const throttle = this.acquire(deviceId, rates, connection);
    // Ends after the datagram has been counted, so that its share is remembered.
    setImmediate(() => connection.emit('close'));
    return throttle;
  }

  #forgetWhenFull(deviceId: string, entry: Entry): void {
    if (entry.connections > 0) return;
    const waitMs = entry.throttle.fullInMs(performance.now());
    if (waitMs > 0) setTimeout(() => this.#forgetWhenFull(deviceId, entry), waitMs).unref();
    else if (this.#throttles.get(deviceId) === entry) this.#throttles.delete(deviceId);
  }
}
