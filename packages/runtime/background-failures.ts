import type { Logger } from './logger.ts';
import { messageOf } from './message-of.ts';
import { type Counter, exportZero } from './metrics.ts';

/** Reports that background work for `Task` failed or succeeded. */
export interface FailureReports<Task extends string> {
  failed(task: Task, error: unknown): void;
  succeeded(task: Task): void;
}

/** Reports failures of background work: counts each, logs a task's first and its recovery, and keeps it for /health. */
export class BackgroundFailures<Task extends string> implements FailureReports<Task> {
  readonly #tasks: Readonly<Record<Task, string>>;
  readonly #logger: Logger;
  readonly #counter: Counter<'task'>;
  readonly #failing = new Map<Task, string>();

  /** @param tasks the tasks of a service, each with what its failure means */
  constructor(tasks: Readonly<Record<Task, string>>, logger: Logger, counter: Counter<'task'>) {
    this.#tasks = tasks;
    this.#logger = logger;
    this.#counter = counter;
    for (const task in tasks) exportZero(counter, { task });
  }

  /** Every task that has failed and not succeeded since: what that means, and why. */
  get current(): string[] {
    return [...this.#failing].map(([task, reason]) => `${this.#tasks[task]}: ${reason}`);
  }

  failed(task: Task, error: unknown): void {
    this.#counter.inc({ task });
    const reason = messageOf(error);
    // Retries fail with the same reason, many times.
    if (this.#failing.get(task) === reason) return;
    this.#failing.set(task, reason);
    this.#logger.error({ err: error, task }, this.#tasks[task]);
  }

  succeeded(task: Task): void {
    if (this.#failing.delete(task)) this.#logger.info({ task }, 'background task recovered');
  }
}
