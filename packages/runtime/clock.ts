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

/**
 * Creates a clock that returns the latest plausible present in UNIX milliseconds: setting the wall clock back while the
 * process runs does not put the present into the future. For rejecting future times; measure durations with
 * `performance.now()`.
 */
export function createLatestNow(): () => number {
  const startedAtMs = Date.now() - performance.now();
  return () => Math.max(Date.now(), startedAtMs + performance.now());
}
