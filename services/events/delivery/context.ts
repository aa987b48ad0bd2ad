import type { Tables } from '@odograph/database/tables';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import type { Clock } from '@odograph/http/http';
import type { FailureReports } from '@odograph/runtime/background-failures';
import type { Logger } from '@odograph/runtime/logger';
import type { Kysely } from 'kysely';
import type { EventMetrics, EventTask } from './metrics.ts';
import type { SharedLists } from './shared-lists.ts';

/** The outcome of an attempt, as the metric's label. */
export type AttemptOutcome =
  | 'delivered'
  | 'gone'
  | 'redirected'
  | 'refused'
  | 'failed'
  | 'timeout'
  | 'unreachable'
  | 'forbidden'
  /** Deferred to the next digest. */
  | 'held';

/** The result of one attempt. */
export interface Attempt {
  readonly outcome: AttemptOutcome;
  /** Of the answer; undefined without one. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** For people; undefined after a success. */
  readonly error: string | undefined;
  /** The receiver's `Retry-After`; 0 without one. */
  readonly retryAfterMs: number;
}

/** Shared by the deliveries of a process. */
export interface DeliveryContext {
  readonly db: Kysely<Tables>;
  readonly slots: DeliverySlots;
  readonly lists: SharedLists;
  readonly metrics: EventMetrics;
  readonly failures: FailureReports<EventTask>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Of this process. */
  readonly lease: string;
  /** Whether the leases of this process have not expired. */
  hasLeases(): boolean;
}

/** Posts an event to the receiver of a webhook, signed. */
export type PostEvent = (event: Pick<PlatformEvent, 'id' | 'json'>) => Promise<Attempt>;

/** Selects the events of a page to deliver; the others are skipped permanently. */
export type SelectEvents = (events: readonly PlatformEvent[]) => Promise<readonly PlatformEvent[]>;

/** The connections to a receiver. */
export interface OpenedReceiver {
  readonly post: PostEvent;
  /** Filters events; by default all are delivered. A webhook reads only the events of its vehicles. */
  readonly select?: SelectEvents;
  /** Runs due work; called a few times a second. Never throws. */
  tick?(): Promise<void>;
  /** Whether due work is in flight; a delivery that is stopped waits a few seconds for it. */
  isBusy?(): boolean;
  close(): Promise<void>;
}

/** A webhook that takes slots. */
export interface SlotUser {
  /** Called when a slot is free. */
  onSlotFree(): void;
}

/**
 * Bounds the attempts in flight of all webhooks together. A free slot goes to the waiting webhook with the fewest attempts in
 * flight, so that slow receivers do not delay others.
 */
export class DeliverySlots {
  #free: number;
  readonly #inFlight = new Map<SlotUser, number>();
  readonly #waiting = new Set<SlotUser>();

  constructor(total: number) {
    this.#free = total;
  }

  /** Takes a slot. @returns false without a free one; onSlotFree is called later */
  take(user: SlotUser): boolean {
    if (this.#free === 0) {
      this.#waiting.add(user);
      return false;
    }
    this.#free -= 1;
    this.#inFlight.set(user, this.#inFlightOf(user) + 1);
    return true;
  }

  release(user: SlotUser): void {
    this.#free += 1;
    const left = this.#inFlightOf(user) - 1;
    if (left === 0) this.#inFlight.delete(user);
    else this.#inFlight.set(user, left);
    // A webhook that is called may not need the slot.
    while (this.#free > 0 && this.#waiting.size > 0) {
      const next = [...this.#waiting].reduce((least, one) =>
        this.#inFlightOf(one) < this.#inFlightOf(least) ? one : least,
      );
      this.#waiting.delete(next);
      next.onSlotFree();
    }
  }

  #inFlightOf(user: SlotUser): number {
    return this.#inFlight.get(user) ?? 0;
  }
}
