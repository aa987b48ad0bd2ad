import type { Logger } from '@odograph/runtime/logger';
import type { Counter } from '@odograph/runtime/metrics';

/** Warns about a problem of one connection. */
export type ThrottledLog = (message: string, details: Record<string, unknown>) => void;

/**
 * Creates a log that warns at most `linesPerWindow` times with the same message in `windowMs`; the next line counts the
 * suppressed ones. A storm of reconnecting devices must not become a storm of lines.
 */
export function createThrottledLog(logger: Logger, linesPerWindow = 10, windowMs = 10_000): ThrottledLog {
  const windows = new Map<string, { startMs: number; lines: number }>();
  return (message, details) => {
    const now = performance.now();
    let window = windows.get(message);
    const suppressed = window === undefined ? 0 : Math.max(0, window.lines - linesPerWindow);
    const isNew = window === undefined || now - window.startMs > windowMs;
    if (window === undefined || isNew) {
      window = { startMs: now, lines: 0 };
      windows.set(message, window);
    }
    window.lines += 1;
    if (window.lines > linesPerWindow) return;
    logger.warn(isNew && suppressed > 0 ? { ...details, suppressed } : details, message);
  };
}

/** Work of the broker that no client waits for, with what its failure means, for /health. */
const tasks = {
  backlog: 'the upload backlog is unknown',
  revocations: 'revoked devices may stay connected',
  sessions: 'the session registry in Redis is stale',
} as const;
export type BackgroundTask = keyof typeof tasks;

/** Reports failures of background work: counts each, logs a task's first and its recovery, and keeps it for /health. */
export class BackgroundFailures {
  readonly #logger: Logger;
  readonly #counter: Counter<'task'>;
  readonly #failing = new Map<BackgroundTask, string>();

  constructor(logger: Logger, counter: Counter<'task'>) {
    this.#logger = logger;
    this.#counter = counter;
  }

  /** Every task that has failed and not succeeded since: what that means, and why. */
  get current(): string[] {
    return [...this.#failing].map(([task, reason]) => `${tasks[task]}: ${reason}`);
  }

  failed(task: BackgroundTask, error: unknown): void {
    this.#counter.inc({ task });
    const reason = error instanceof Error ? error.message : String(error);
    // Retries fail with the same reason, many times.
    if (this.#failing.get(task) === reason) return;
    this.#failing.set(task, reason);
    this.#logger.error({ err: error, task }, tasks[task]);
  }

  succeeded(task: BackgroundTask): void {
    if (this.#failing.delete(task)) this.#logger.info({ task }, 'background task recovered');
  }
}
