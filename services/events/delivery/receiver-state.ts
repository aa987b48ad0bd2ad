import { backOffMs } from './back-off.ts';
import { mostInFlight } from './delivery-context.ts';
import type { ReceiverHealth } from './queries.ts';
import type { Attempt } from './receiver.ts';

/** Failures in a row, of any vehicles, after which the receiver as a whole counts as failing. */
const failuresBeforePause = 10;
/** Attempts in flight before anything is known of a receiver. */
const inFlightAtFirst = 16;

/**
 * Decides when the whole delivery to a receiver pauses. After a pause, one attempt shows whether the receiver is back; until one
 * succeeds, each pause is longer than the one before. How many attempts may be in flight grows with those that succeed, and halves
 * with each failure (additive increase, multiplicative decrease): a receiver gets what it can take.
 */
export class ReceiverState {
  #health: ReceiverHealth;
  #failuresInRow = 0;
  #inFlight = inFlightAtFirst;

  constructor(health: ReceiverHealth) {
    this.#health = health;
  }

  get health(): ReceiverHealth {
    return this.#health;
  }

  isPaused(now: Date): boolean {
    return (this.#health.pausedUntil?.getTime() ?? 0) > now.getTime();
  }

  /** How many attempts may be in flight. */
  get mostInFlight(): number {
    return this.isProbing ? 1 : Math.floor(this.#inFlight);
  }

  /** Whether no attempt has succeeded since the last pause: one at a time is enough. */
  get isProbing(): boolean {
    return this.#health.pauses > 0;
  }

  /** Time since the first failure after the last success; 0 if there was none. */
  failingMs(now: Date): number {
    const { failingSince } = this.#health;
    return failingSince === undefined ? 0 : now.getTime() - failingSince.getTime();
  }

  /** @returns whether the receiver failed as a whole until now */
  succeeded(now: Date): boolean {
    const wasProbing = this.isProbing;
    this.#failuresInRow = 0;
    this.#inFlight = Math.min(mostInFlight, this.#inFlight + 1 / this.#inFlight);
    this.#health = {
      ...{ failingSince: undefined, pauses: 0, pausedUntil: undefined, lastError: undefined },
      lastSuccessAt: now,
    };
    return wasProbing;
  }

  failed({ error, retryAfterMs }: Attempt, now: Date): void {
    this.#failuresInRow += 1;
    this.#inFlight = Math.max(1, this.#inFlight / 2);
    this.#health = { ...this.#health, failingSince: this.#health.failingSince ?? now, lastError: error };
    const isWhole = this.isProbing || this.#failuresInRow >= failuresBeforePause || retryAfterMs > 0;
    // Of attempts in flight together, the first failure begins the pause.
    if (!isWhole || this.isPaused(now)) return;
    const pauses = this.#health.pauses + 1;
    const pausedUntil = new Date(now.getTime() + backOffMs(pauses, retryAfterMs));
    this.#health = { ...this.#health, pauses, pausedUntil };
  }
}
