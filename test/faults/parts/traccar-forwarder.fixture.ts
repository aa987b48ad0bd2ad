import { setTimeout as delay } from 'node:timers/promises';

/** Traccar's settings `forward.retry.*`. */
export interface TraccarRetry {
  readonly delayMs: number;
  readonly count: number;
  readonly limit: number;
}

/** Forwards positions like Traccar's PositionForwardingHandler (6.x): a failed one is retried with a delay that doubles each
 * time, and dropped after `count` retries, or when it fails while more than `limit` positions are pending.
 */
export class TraccarForwarder {
  delivered = 0;
  dropped = 0;
  #pending = 0;
  readonly #retry: TraccarRetry;
  readonly #send: (position: string) => Promise<boolean>;

  /** @param send resolves whether the answer was 2xx */
  constructor(retry: TraccarRetry, send: (position: string) => Promise<boolean>) {
    this.#retry = retry;
    this.#send = send;
  }

  get pending(): number {
    return this.#pending;
  }

  forward(position: string): void {
    this.#pending += 1;
    void this.#deliver(position);
  }

  async #deliver(position: string): Promise<void> {
    const { delayMs, count, limit } = this.#retry;
    for (let retries = 0; !(await this.#send(position)); retries += 1) {
      if (this.#pending > limit || retries >= count) {
        this.#pending -= 1;
        this.dropped += 1;
        return;
      }
      await delay(delayMs * 2 ** retries);
    }
    this.#pending -= 1;
    this.delivered += 1;
  }
}
