/** When somebody is no longer asked who does not answer. */
export interface CircuitOptions {
  /** So many failures in a row open the circuit. */
  failures: number;
  /** How long it stays open before one call may try again. */
  pauseMs: number;
  now: () => number;
}

/** Lets calls pass until too many failed in a row; then none for a while, then one, whose end decides. */
export class CircuitBreaker {
  readonly #options: CircuitOptions;
  #failuresInARow = 0;
  #openUntilMs: number | undefined;
  #isTrying = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** Whether a call may be made now; a caller that gets true reports its end. */
  allows(): boolean {
    if (this.#openUntilMs === undefined) return true;
    const leftMs = this.#openUntilMs - this.#options.now();
    // More is left than a pause lasts when the clock was set back.
    if (this.#isTrying || (leftMs > 0 && leftMs <= this.#options.pauseMs)) return false;
    this.#isTrying = true;
    return true;
  }

  /** A call that was allowed is not made after all. */
  abandoned(): void {
    this.#isTrying = false;
  }

  succeeded(): void {
    this.#failuresInARow = 0;
    this.#openUntilMs = undefined;
    this.#isTrying = false;
  }

  failed(): void {
    this.#failuresInARow += 1;
    this.#isTrying = false;
    if (this.#failuresInARow >= this.#options.failures) this.#openUntilMs = this.#options.now() + this.#options.pauseMs;
  }
}
