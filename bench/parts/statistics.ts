import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** Computes the median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

const maxMs = 60_000;
const microsecondsPerMs = 1000;

/** A histogram of times in milliseconds with three significant digits. */
export class TimeHistogram {
  readonly #microseconds: RecordableHistogram = createHistogram({
    highest: maxMs * microsecondsPerMs,
    figures: 3,
  });

  record(ms: number): void {
    const microseconds = Math.round(ms * microsecondsPerMs);
    this.#microseconds.record(Math.min(maxMs * microsecondsPerMs, Math.max(1, microseconds)));
  }

  /** Returns a quantile (0 to 1) in ms; NaN when empty. */
  quantile(share: number): number {
    const { count } = this.#microseconds;
    return count === 0 ? Number.NaN : this.#microseconds.percentile(share * 100) / microsecondsPerMs;
  }
}
