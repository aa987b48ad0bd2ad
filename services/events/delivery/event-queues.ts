import type { EventType } from '@odograph/contracts/events';
import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import type { EventPage, EventRequest, PlatformEvent } from '@odograph/event-list/read-events';
import type { Attempt } from './context.ts';
import { attemptDelayMs, deadLetterAfterMs } from './health.ts';
import type { ProgressLog } from './progress.ts';
import type { Retry, VehicleKey } from './queries.ts';

/** An event that was read and is not delivered yet. */
export interface WindowEntry {
  readonly event: PlatformEvent;
  /** The cursor right before it. */
  readonly before: EventCursor;
  readonly readAt: Date;
  isDone: boolean;
}

/** Older content is read again before it is sent: location privacy or a purge may have changed it. */
const maxContentAgeMs = 10_000;

export const isStale = (readAt: Date, now: Date): boolean =>
  Math.abs(now.getTime() - readAt.getTime()) > maxContentAgeMs;

/**
 * The events that were read ahead of the cursor. Each vehicle has its own queue; the cursor moves over events only in the order of
 * the list, so that a crash skips none.
 */
export class EventWindow {
  #entries: WindowEntry[] = [];
  #queues = new Map<VehicleKey, WindowEntry[]>();
  #cursor: EventCursor;
  #readUntil: EventCursor;

  constructor(cursor: EventCursor) {
    this.#cursor = cursor;
    this.#readUntil = cursor;
  }

  /** Everything before it is delivered, or left to the retries of its vehicle. */
  get cursor(): EventCursor {
    return this.#cursor;
  }

  /** Everything before it was read. */
  get readUntil(): EventCursor {
    return this.#readUntil;
  }

  get size(): number {
    return this.#entries.length;
  }

  /**
   * Adds the next page.
   * @param isRetrying whether the events of a vehicle are left to its retries
   * @returns the vehicles of the other events
   */
  add({ events, next }: EventPage, readAt: Date, isRetrying: (vehicle: VehicleKey) => boolean): Set<VehicleKey> {
    const added = new Set<VehicleKey>();
    for (const event of events) {
      const entry = { event, before: this.#readUntil, readAt, isDone: isRetrying(event.vehicleId) };
      this.#readUntil = event.cursor;
      this.#entries.push(entry);
      if (entry.isDone) continue;
      const queue = this.#queues.get(event.vehicleId);
      if (queue) queue.push(entry);
      else this.#queues.set(event.vehicleId, [entry]);
      added.add(event.vehicleId);
    }
    if (isBefore(this.#readUntil, next)) this.#readUntil = next;
    this.#advance();
    return added;
  }

  firstOf(vehicle: VehicleKey): WindowEntry | undefined {
    return this.#queues.get(vehicle)?.[0];
  }

  /** Removes the first event of its vehicle; has no effect on one that restart() dropped. */
  finish(entry: WindowEntry): void {
    const { vehicleId } = entry.event;
    const queue = this.#queues.get(vehicleId);
    if (queue?.[0] !== entry) return;
    queue.shift();
    entry.isDone = true;
    if (queue.length === 0) this.#queues.delete(vehicleId);
    this.#advance();
  }

  /** Leaves all events of a vehicle to its retries. */
  finishAll(vehicle: VehicleKey): void {
    for (const entry of this.#queues.get(vehicle) ?? []) entry.isDone = true;
    this.#queues.delete(vehicle);
    this.#advance();
  }

  /** Drops what was read, and continues at another cursor. */
  restart(cursor: EventCursor): void {
    this.#entries = [];
    this.#queues.clear();
    this.#cursor = cursor;
    this.#readUntil = cursor;
  }

  #advance(): void {
    const done = this.#entries.findIndex(({ isDone }) => !isDone);
    const finished = this.#entries.splice(0, done === -1 ? this.#entries.length : done);
    const last = finished.at(-1);
    if (this.#entries.length === 0) this.#cursor = this.#readUntil;
    else if (last) this.#cursor = last.event.cursor;
  }
}

const eventsPerPage = 50;
/** Before events hidden by a running transaction are read again. */
const horizonDelayMs = 250;

/** Reads events of the webhook's application. */
export type ReadPage = (request: Omit<EventRequest, 'applicationId'>) => Promise<EventPage>;

/** Events of a vehicle that were read but not attempted yet, and the cursor after them. */
interface RetryPage {
  readonly events: PlatformEvent[];
  readonly next: EventCursor;
  readonly readAt: Date;
}

/**
 * The vehicles whose next event failed. Each has its own cursor, from which its events are read again when an attempt is due, until
 * it has caught up with the window.
 */
export class VehicleRetries {
  readonly #retries: Map<VehicleKey, Retry>;
  readonly #pages = new Map<VehicleKey, RetryPage>();
  readonly #types: ReadonlySet<EventType>;
  readonly #read: ReadPage;
  readonly #progress: ProgressLog;

  constructor(
    retries: ReadonlyMap<VehicleKey, Retry>,
    types: ReadonlySet<EventType>,
    { read, progress }: { read: ReadPage; progress: ProgressLog },
  ) {
    this.#retries = new Map(retries);
    this.#types = types;
    this.#read = read;
    this.#progress = progress;
  }

  get size(): number {
    return this.#retries.size;
  }

  has(vehicle: VehicleKey): boolean {
    return this.#retries.has(vehicle);
  }

  get(vehicle: VehicleKey): Readonly<Retry> | undefined {
    return this.#retries.get(vehicle);
  }

  get cursors(): EventCursor[] {
    return [...this.#retries.values()].map(({ cursor }) => cursor);
  }

  /** The vehicles whose next attempt is due. */
  dueAt(now: Date): VehicleKey[] {
    return [...this.#retries].filter(([, { nextAttemptAt }]) => nextAttemptAt <= now).map(([vehicle]) => vehicle);
  }

  /** The vehicle whose next attempt is due first; in an object, since undefined is a key. */
  first(): { vehicle: VehicleKey } | undefined {
    let first: [VehicleKey, Retry] | undefined;
    for (const one of this.#retries) if (!first || one[1].nextAttemptAt < first[1].nextAttemptAt) first = one;
    return first && { vehicle: first[0] };
  }

  /** Makes every next attempt due: the receiver has recovered. */
  makeDue(now: Date): void {
    for (const [vehicle, retry] of this.#retries) this.#change(vehicle, retry, { nextAttemptAt: now });
  }

  /** Adds a vehicle whose event failed for the first time. @param cursor right before the event */
  add(vehicle: VehicleKey, cursor: EventCursor, { retryAfterMs }: Attempt, now: Date): void {
    const nextAttemptAt = new Date(now.getTime() + attemptDelayMs(1, retryAfterMs));
    const retry = { cursor, failures: 1, failingSince: now, nextAttemptAt };
    this.#retries.set(vehicle, retry);
    this.#progress.retryChanged(vehicle, retry);
  }

  /** Finds the next event of a vehicle, as it is now. A vehicle without one before `readUntil()` is removed. */
  async next(vehicle: VehicleKey, readUntil: () => EventCursor, now: Date): Promise<PlatformEvent | undefined> {
    for (;;) {
      const retry = this.#retries.get(vehicle);
      if (!retry) return undefined;
      const page = await this.#findPage(vehicle, retry.cursor, now);
      const [event] = page.events;
      const hasCaughtUp = event ? isBefore(readUntil(), event.cursor) : !isBefore(page.next, readUntil());
      if (hasCaughtUp) {
        this.#remove(vehicle);
        return undefined;
      }
      if (event) return event;
      this.#pages.delete(vehicle);
      const hasMoved = isBefore(retry.cursor, page.next);
      const delay = hasMoved ? {} : { nextAttemptAt: new Date(now.getTime() + horizonDelayMs) };
      this.#change(vehicle, retry, { cursor: page.next, ...delay });
      if (!hasMoved) return undefined;
    }
  }

  delivered(vehicle: VehicleKey, event: PlatformEvent, now: Date): void {
    this.#moveBehind(vehicle, event, { failingSince: now, nextAttemptAt: now });
  }

  /** Skips a dead letter; the vehicle is still failing. */
  skip(vehicle: VehicleKey, event: PlatformEvent, now: Date): void {
    this.#moveBehind(vehicle, event, { nextAttemptAt: now });
  }

  /** @returns whether the retries of the vehicle are exhausted, so that its old events become dead letters */
  failed(vehicle: VehicleKey, { retryAfterMs }: Attempt, now: Date): boolean {
    const retry = this.#retries.get(vehicle);
    if (!retry) return false;
    // Read again before the next attempt: privacy or a purge may have changed it.
    this.#pages.delete(vehicle);
    const failures = retry.failures + 1;
    this.#change(vehicle, retry, {
      failures,
      nextAttemptAt: new Date(now.getTime() + attemptDelayMs(failures, retryAfterMs)),
    });
    return now.getTime() - retry.failingSince.getTime() >= deadLetterAfterMs;
  }

  /** Moves every vehicle that is before a cursor to it. */
  moveAllTo(cursor: EventCursor): void {
    for (const [vehicle, retry] of this.#retries) {
      if (retry.cursor.epoch === cursor.epoch && !isBefore(retry.cursor, cursor)) continue;
      this.#pages.delete(vehicle);
      this.#change(vehicle, retry, { cursor, failures: 0 });
    }
  }

  #moveBehind(vehicle: VehicleKey, event: PlatformEvent, change: Partial<Retry>): void {
    this.#pages.get(vehicle)?.events.shift();
    const retry = this.#retries.get(vehicle);
    if (retry) this.#change(vehicle, retry, { cursor: event.cursor, failures: 0, ...change });
  }

  #change(vehicle: VehicleKey, retry: Retry, change: Partial<Retry>): void {
    Object.assign(retry, change);
    this.#progress.retryChanged(vehicle, retry);
  }

  #remove(vehicle: VehicleKey): void {
    this.#retries.delete(vehicle);
    this.#pages.delete(vehicle);
    this.#progress.retryChanged(vehicle, undefined);
  }

  async #findPage(vehicle: VehicleKey, after: EventCursor, now: Date): Promise<RetryPage> {
    const known = this.#pages.get(vehicle);
    if (known && !isStale(known.readAt, now)) return known;
    const page = { ...(await this.#readPage(vehicle, after)), readAt: now };
    this.#pages.set(vehicle, page);
    return page;
  }

  async #readPage(vehicle: VehicleKey, after: EventCursor) {
    // Every reading is of a vehicle.
    const types =
      vehicle === undefined ? new Set([...this.#types].filter((type) => type !== 'reading.stored')) : this.#types;
    const ofVehicle = vehicle !== undefined && { vehicleIds: [vehicle] };
    const { events, next } = await this.#read({ after, limit: eventsPerPage, types, ...ofVehicle });
    return { events: events.filter(({ vehicleId }) => vehicleId === vehicle), next };
  }
}
