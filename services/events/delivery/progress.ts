import { performance } from 'node:perf_hooks';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import type { DeliveryContext } from './delivery-context.ts';
import {
  type GivenUpEvent,
  type LoggedAttempt,
  type Progress,
  type Retry,
  saveProgress,
  type VehicleKey,
} from './queries.ts';
import type { Attempt } from './receiver.ts';

/** Successful attempts of a webhook that the log takes in a second: at a high rate, it would outgrow what it reports on. */
const loggedSuccesses = 100;

/** Collects what a delivery does, and saves it in one transaction every few hundred deliveries. */
export class ProgressLog {
  readonly #context: DeliveryContext;
  readonly #webhook: { readonly id: string; readonly version: number };
  #retries = new Map<VehicleKey, Retry | undefined>();
  #givenUp: GivenUpEvent[] = [];
  #attempts: LoggedAttempt[] = [];
  #isDirty = false;
  #second = 0;
  #successesInSecond = 0;

  constructor(context: DeliveryContext, webhook: { readonly id: string; readonly version: number }) {
    this.#context = context;
    this.#webhook = webhook;
  }

  /** Notes that the position or the health of the delivery changed. */
  changed(): void {
    this.#isDirty = true;
  }

  /** @param retry undefined for a vehicle that waits no longer */
  retryChanged(vehicle: VehicleKey, retry: Retry | undefined): void {
    this.#retries.set(vehicle, retry && { ...retry });
    this.#isDirty = true;
  }

  gaveUp(events: readonly GivenUpEvent[]): void {
    this.#givenUp.push(...events);
    this.#context.metrics.deadLetters.inc(events.length);
    this.#isDirty = true;
  }

  /** @param count which attempt at this event it was, from 1 */
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
    return this.#successesInSecond > loggedSuccesses;
  }

  /**
   * Saves what was collected. A failure is reported, and what was collected is kept for the next call.
   * @returns false if the webhook was changed meanwhile or is delivered to by another process
   */
  async save(state: Pick<Progress, 'position' | 'health' | 'isGone' | 'release'>): Promise<boolean> {
    if (!this.#isDirty && !state.release) return true;
    const collected = { retries: this.#retries, givenUp: this.#givenUp, attempts: this.#attempts };
    [this.#retries, this.#givenUp, this.#attempts, this.#isDirty] = [new Map(), [], [], false];
    const { db, lease, failures } = this.#context;
    try {
      const isOurs = await saveProgress(db, { ...this.#webhook, lease }, { ...state, ...collected });
      failures.succeeded('saving');
      return isOurs;
    } catch (error) {
      failures.failed('saving', error);
      this.#retries = new Map([...collected.retries, ...this.#retries]);
      this.#givenUp.unshift(...collected.givenUp);
      this.#attempts.unshift(...collected.attempts);
      this.#isDirty = true;
      return true;
    }
  }
}
