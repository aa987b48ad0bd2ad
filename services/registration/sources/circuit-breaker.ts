/** When the circuit opens and for how long. */
interface CircuitOptions {
  /** Consecutive failures that open the circuit. */
  failures: number;
  /** How long the circuit stays open before a trial call. */
  pauseMs: number;
  now: () => number;
}

/** Opens after consecutive failures; after a pause one trial call (half-open) decides whether it closes again. */
export class CircuitBreaker {
  readonly #options: CircuitOptions;
  #failuresInARow = 0;
  #openUntilMs: number | undefined;
  #isTrying = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  /** Returns true when a call may be made now; its outcome must then be reported. */
  allows(): boolean {
    if (this.#openUntilMs === undefined) return true;
    const leftMs = this.#openUntilMs - this.#options.now();
    // More than a whole pause left means that the clock was set back.
    if (this.#isTrying || (leftMs > 0 && leftMs <= this.#options.pauseMs)) return false;
    this.#isTrying = true;
    return true;
  }

  /** Reports that an allowed call was not made. */
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
