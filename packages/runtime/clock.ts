import { performance } from 'node:perf_hooks';

/** A point in time of the monotonic clock, unaffected by changes of the wall clock. */
export interface Deadline {
  /** Not below 0. */
  remainingMs(): number;
}

export function deadlineIn(milliseconds: number): Deadline {
  const endMs = performance.now() + milliseconds;
  return { remainingMs: () => Math.max(0, endMs - performance.now()) };
}

/**
 * Waits for `work` until a timeout, after which its result is ignored.
 * @throws the failure of `work`, or an error after the timeout
 */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${Math.round(timeoutMs)} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

interface BackOff {
  readonly minMs: number;
  readonly maxMs: number;
  /** Growth per failure; 2 by default. */
  readonly factor?: number;
}

/**
 * Computes the back-off before the next attempt, in milliseconds. It grows exponentially from `minMs` to `maxMs`; a
 * random reduction of up to half keeps attempts that failed together from being repeated together. packages/client has
 * its own function, because it is published separately.
 * @param failures consecutive failures, from 1
 */
export function backOffMs(failures: number, { minMs, maxMs, factor = 2 }: BackOff, random = Math.random): number {
  return Math.min(maxMs, minMs * factor ** (failures - 1)) * (0.5 + random() / 2);
}

/**
 * Creates a clock that returns the latest plausible present in UNIX milliseconds: setting the wall clock back while the
 * process runs does not put the present into the future. For rejecting future times; measure durations with
 * `performance.now()`.
 */
export function createLatestNow(): () => number {
  const startedAtMs = Date.now() - performance.now();
  return () => Math.max(Date.now(), startedAtMs + performance.now());
}
