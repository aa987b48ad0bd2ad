/** The middle value, of two the mean. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

const bucketsPerMs = 20;
const longestMs = 20_000;

/** Counts times in buckets of 0.05 ms, so that recording one costs next to nothing. */
export class TimeHistogram {
  readonly #counts = new Uint32Array(longestMs * bucketsPerMs + 1);
  #total = 0;

  record(ms: number): void {
    const bucket = Math.min(this.#counts.length - 1, Math.max(0, Math.round(ms * bucketsPerMs)));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total += 1;
  }

  /** In milliseconds; NaN when nothing was recorded. */
  quantile(share: number): number {
    let left = Math.max(1, Math.ceil(this.#total * share));
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return bucket / bucketsPerMs;
    }
    return Number.NaN;
  }
}
