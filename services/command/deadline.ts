import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** A moment of this process's monotonic clock, which no change of the time of day moves. */
export interface Deadline {
  /** Not below 0. */
  remainingMs(): number;
}

export function deadlineIn(milliseconds: number): Deadline {
  const end = performance.now() + milliseconds;
  return { remainingMs: () => Math.max(0, end - performance.now()) };
}

/**
 * The result of `work`, which goes on unheard when it takes longer.
 * @throws when `work` does, or has not answered in `milliseconds`
 */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = delay(milliseconds, undefined, { signal: over.signal }).then(() => {
    throw new Error(`no answer in ${Math.round(milliseconds)} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
    work.catch(() => undefined);
  }
}
