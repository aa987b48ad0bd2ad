import { setTimeout as delay } from 'node:timers/promises';

interface Repetition {
  readonly signal: AbortSignal;
  /** From the start of a step to the start of the next. */
  readonly intervalMs: number;
  step(): Promise<void>;
  /** Must not throw. */
  onFailure(error: unknown): Promise<void>;
}

const retryMs = 1000;

/** Repeats a step until the signal aborts. Pauses for a second after a failure. */
export async function repeat({ signal, intervalMs, step, onFailure }: Repetition): Promise<void> {
  const pause = (ms: number) => delay(ms, undefined, { signal }).catch(() => undefined);
  while (!signal.aborted) {
    const startedAt = performance.now();
    try {
      await step();
    } catch (error) {
      if (signal.aborted) return;
      await onFailure(error);
      await pause(retryMs);
    }
    await pause(Math.max(0, startedAt + intervalMs - performance.now()));
  }
}
