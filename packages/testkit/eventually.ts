import { setTimeout as delay } from 'node:timers/promises';

/**
 * Polls for a condition without an event, such as a row that another process writes.
 * @throws the last error when `check` has not passed within `timeoutMs`
 */
export async function eventually<T>(check: () => Promise<T>, timeoutMs = 30_000): Promise<T> {
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
