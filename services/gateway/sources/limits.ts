import { tooManyRequests } from '@odograph/contracts/failures';
import { TokenBucket } from '@odograph/sessions/throttle';

/** Burst size, in seconds of a sender's rates. */
const burstSeconds = 10;
const forgetIntervalMs = 10_000;

export interface SenderRates {
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
}

interface Buckets {
  readonly requests: TokenBucket;
  readonly bytes: TokenBucket;
}

/** Limits the requests and bytes of each sender, in this process. */
export class SenderLimits {
  readonly #buckets = new Map<string, Buckets>();
  #forgottenAtMs = performance.now();

  /**
   * Counts a request of a sender.
   * @param sender its id, unique among all senders
   * @throws Failure TOO_MANY_REQUESTS when it is over its rates
   */
  take(sender: string, { requestsPerSecond, bytesPerSecond }: SenderRates, bytes: number): void {
    const nowMs = performance.now();
    const buckets = this.#buckets.get(sender) ?? {
      requests: new TokenBucket(requestsPerSecond, burstSeconds, nowMs),
      bytes: new TokenBucket(bytesPerSecond, burstSeconds, nowMs),
    };
    buckets.requests.perSecond = requestsPerSecond;
    buckets.bytes.perSecond = bytesPerSecond;
    const waitMs = Math.max(buckets.requests.debtMs(nowMs), buckets.bytes.debtMs(nowMs));
    if (waitMs > 0) throw tooManyRequests(waitMs);
    buckets.requests.take(1, nowMs);
    buckets.bytes.take(bytes, nowMs);
    this.#buckets.set(sender, buckets);
    if (nowMs - this.#forgottenAtMs > forgetIntervalMs) this.#forgetIdle(nowMs);
  }

  #forgetIdle(nowMs: number): void {
    this.#forgottenAtMs = nowMs;
    for (const [sender, { requests, bytes }] of this.#buckets) {
      if (requests.fullInMs(nowMs) <= 0 && bytes.fullInMs(nowMs) <= 0) this.#buckets.delete(sender);
    }
  }
}
