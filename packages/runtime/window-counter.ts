interface Window {
  count: number;
  readonly endsAtMs: number;
}

/**
 * Counts by name in fixed time windows, in bounded memory: with too many names, the one whose window began first is
 * forgotten.
 */
export class WindowCounter {
  readonly #windowMs: number;
  readonly #maximumNames: number;
  /** Ordered by the start of the windows. */
  readonly #windows = new Map<string, Window>();

  constructor(windowMs: number, maximumNames: number) {
    this.#windowMs = windowMs;
    this.#maximumNames = maximumNames;
  }

  get size(): number {
    return this.#windows.size;
  }

  /** The count of a name in its current window. */
  read(name: string, nowMs: number): number {
    const window = this.#windows.get(name);
    return window === undefined || window.endsAtMs <= nowMs ? 0 : window.count;
  }

  /** Milliseconds until the window of a name ends; 0 without a window. */
  remainingMs(name: string, nowMs: number): number {
    return Math.max(0, (this.#windows.get(name)?.endsAtMs ?? 0) - nowMs);
  }

  add(name: string, nowMs: number): void {
    const window = this.#windows.get(name);
    if (window !== undefined && window.endsAtMs > nowMs) {
      window.count += 1;
      return;
    }
    this.#windows.delete(name);
    this.#windows.set(name, { count: 1, endsAtMs: nowMs + this.#windowMs });
    if (this.#windows.size <= this.#maximumNames) return;
    const [oldest] = this.#windows.keys();
    if (oldest !== undefined) this.#windows.delete(oldest);
  }

  clear(name: string): void {
    this.#windows.delete(name);
  }
}
