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
