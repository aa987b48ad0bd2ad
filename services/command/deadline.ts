import { performance } from 'node:perf_hooks';

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
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${Math.round(milliseconds)} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}
