import { WindowCounter } from '@odograph/runtime/window-counter';

type Counted = (error: null, result: { current: number; ttl: number }) => void;

const maximumAddresses = 10_000;

/** Counts requests for @fastify/rate-limit, by a clock that nobody sets: its own store would refuse until the hour is back. */
export class RequestCounts {
  readonly #counts = new Map<number, WindowCounter>();

  incr(address: string, callback: Counted, windowMs: number): void {
    const now = performance.now();
    const counter = this.#counts.get(windowMs) ?? new WindowCounter(windowMs, maximumAddresses);
    this.#counts.set(windowMs, counter);
    counter.add(address, now);
    callback(null, { current: counter.read(address, now), ttl: Math.ceil(counter.remainingMs(address, now)) });
  }

  /** One for a route that is counted by itself. */
  child(): RequestCounts {
    return new RequestCounts();
  }
}
