import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for something that gives no event, such as a row that another process writes.
 * @throws the last error when `check` has not passed in `timeoutMs`
 */
export async function eventually<T>(check: () => Promise<T>, timeoutMs = 10_000): Promise<T> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await delay(20);
    }
  }
}
