import { performance } from 'node:perf_hooks';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import type { Attempt, DeliveryContext } from './context.ts';
import {
  type DeadLetter,
  type LoggedAttempt,
  type Progress,
  type Retry,
  saveProgress,
  type VehicleKey,
} from './queries.ts';

/** Successful attempts of a webhook logged in a second; more would make the log larger than the events. */
const maxLoggedSuccesses = 100;

/** Collects the progress of a delivery, and saves it in one statement. */
export class ProgressLog {
  readonly #context: DeliveryContext;
  readonly #webhook: { readonly id: string; readonly version: number };
  #retries = new Map<VehicleKey, Retry | undefined>();
  #deadLetters: DeadLetter[] = [];
  #attempts: LoggedAttempt[] = [];
  #isDirty = false;
  #second = 0;
  #successesInSecond = 0;

  constructor(context: DeliveryContext, webhook: { readonly id: string; readonly version: number }) {
    this.#context = context;
    this.#webhook = webhook;
  }

  cursorMoved(): void {
    this.#isDirty = true;
  }

  /** @param retry undefined for a vehicle that has caught up */
  retryChanged(vehicle: VehicleKey, retry: Retry | undefined): void {
    this.#retries.set(vehicle, retry && { ...retry });
    this.#isDirty = true;
  }

  addDeadLetters(letters: readonly DeadLetter[]): void {
    if (letters.length === 0) return;
    this.#deadLetters.push(...letters);
    this.#isDirty = true;
    const { metrics, logger } = this.#context;
    metrics.deadLetters.inc(letters.length);
    logger.warn({ webhookId: this.#webhook.id, events: letters.length }, 'events became dead letters after three days');
  }

  /** @param count the number of the attempt at this event, from 1 */
  attempted({ id, type, vehicleId }: PlatformEvent, count: number, attempt: Attempt): void {
    const { attempts, attemptSeconds } = this.#context.metrics;
    attempts.inc({ outcome: attempt.outcome });
    attemptSeconds.observe(attempt.durationMs / 1000);
    this.#isDirty = true;
    if (attempt.error === undefined && this.#isBeyondRate()) return;
    const { status, durationMs, error } = attempt;
    const at = this.#context.clock();
    this.#attempts.push({ at, eventId: id, type, vehicleId, attempt: count, status, durationMs, error });
  }

  #isBeyondRate(): boolean {
    const second = Math.floor(performance.now() / 1000);
    this.#successesInSecond = second === this.#second ? this.#successesInSecond + 1 : 1;
    this.#second = second;
    return this.#successesInSecond > maxLoggedSuccesses;
  }

  /**
   * Saves what was collected. A failure is reported, and what was collected is kept for the next call.
   * @returns false if the webhook was changed meanwhile, or another process has its lease
   */
  async save(state: Pick<Progress, 'cursor' | 'health' | 'isGone' | 'release'>): Promise<boolean> {
    if (!this.#isDirty && !state.release) return true;
    const collected = { retries: this.#retries, deadLetters: this.#deadLetters, attempts: this.#attempts };
    [this.#retries, this.#deadLetters, this.#attempts, this.#isDirty] = [new Map(), [], [], false];
    const { db, lease, failures } = this.#context;
    try {
      const isLeased = await saveProgress(db, { ...this.#webhook, lease }, { ...state, ...collected });
      failures.succeeded('saving');
      return isLeased;
    } catch (error) {
      failures.failed('saving', error);
      this.#retries = new Map([...collected.retries, ...this.#retries]);
      this.#deadLetters.unshift(...collected.deadLetters);
      this.#attempts.unshift(...collected.attempts);
      this.#isDirty = true;
      return true;
    }
  }
}
