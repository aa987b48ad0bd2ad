import { backOffMs } from '@odograph/runtime/clock';
import type { Attempt } from './context.ts';
import type { ReceiverHealth } from './queries.ts';

/** Maximum attempts in flight to one receiver. */
export const maxInFlight = 128;
/** Maximum attempts in flight unless events wait: each has a connection of its own, and short bursts open no more. */
const usualInFlight = 16;
/** Failures in a row, of any vehicles, after which the receiver as a whole counts as failing. */
const failuresBeforePause = 10;
/** An event that fails for this long becomes a dead letter. */
export const deadLetterAfterMs = 3 * 86_400_000;

const backOff = { minMs: 5000, maxMs: 2 * 3_600_000, factor: 4 };
const maxRetryAfterMs = 24 * 3_600_000;

/**
 * Computes the time until the next attempt, in milliseconds: 5 s, 20 s, 80 s and so on up to two hours, randomly
 * reduced by up to half.
 * @param failures in a row, from 1
 * @param retryAfterMs the receiver's `Retry-After`: at least this long, but no longer than a day
 */
export function attemptDelayMs(failures: number, retryAfterMs = 0, random = Math.random): number {
  return Math.round(Math.max(backOffMs(failures, backOff, random), Math.min(retryAfterMs, maxRetryAfterMs)));
}

/**
 * Decides when all deliveries to a receiver pause. After a pause, a single attempt probes the receiver; until one succeeds, each
 * pause is longer than the one before. The maximum of attempts in flight halves with each failure and grows again with
 * successes; above its usual value, it grows slowly while events wait.
 */
export class ReceiverState {
  #health: ReceiverHealth;
  #failuresInRow = 0;
  #inFlight = usualInFlight;

  constructor(health: ReceiverHealth) {
    this.#health = health;
  }

  get health(): ReceiverHealth {
    return this.#health;
  }

  isPaused(now: Date): boolean {
    return (this.#health.pausedUntil?.getTime() ?? 0) > now.getTime();
  }

  get maxInFlight(): number {
    return this.isProbing ? 1 : Math.floor(this.#inFlight);
  }

  /** Whether no attempt has succeeded since the last pause. */
  get isProbing(): boolean {
    return this.#health.pauses > 0;
  }

  /** Whether the retries of the whole receiver are exhausted, so that its old events become dead letters. */
  hasExhaustedRetries(now: Date): boolean {
    return this.isProbing && now.getTime() - (this.#health.failingSince ?? now).getTime() >= deadLetterAfterMs;
  }

  /** Allows one more attempt in flight while events wait, otherwise one fewer. Call it a few times a second. */
  adjust(areEventsWaiting: boolean): void {
    if (areEventsWaiting && this.#failuresInRow === 0) this.#inFlight = Math.min(maxInFlight, this.#inFlight + 1);
    else if (this.#inFlight > usualInFlight) this.#inFlight -= 1;
  }

  /** @returns whether the receiver was failing as a whole until now */
  succeeded(now: Date): boolean {
    const wasProbing = this.isProbing;
    this.#failuresInRow = 0;
    if (this.#inFlight < usualInFlight) this.#inFlight += 1 / this.#inFlight;
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
    this.#health = {
      ...this.#health,
      pauses,
      pausedUntil: new Date(now.getTime() + attemptDelayMs(pauses, retryAfterMs)),
    };
  }
}
