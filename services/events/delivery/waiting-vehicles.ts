import type { EventType } from '@odograph/contracts/events';
import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import type { EventPage, EventRequest, PlatformEvent } from '@odograph/event-list/read-events';
import { backOffMs, patienceMs } from './back-off.ts';
import type { ProgressLog } from './progress.ts';
import type { Retry, VehicleKey } from './queries.ts';
import type { Attempt } from './receiver.ts';

const eventsPerPage = 50;
/** Before it reads again where a running transaction hides the next events. */
const horizonPauseMs = 250;

/** Reads events of the webhook's application. */
export type ReadPage = (request: Omit<EventRequest, 'applicationId'>) => Promise<EventPage>;

/**
 * The vehicles whose next event was not delivered. Each has a position of its own in the list, behind which its events are read
 * again when an attempt is due, until it has caught up with the events of all vehicles.
 */
export class WaitingVehicles {
  readonly #retries: Map<VehicleKey, Retry>;
  readonly #pages = new Map<VehicleKey, { events: PlatformEvent[]; next: EventCursor }>();
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

  entries(): Iterable<[VehicleKey, Readonly<Retry>]> {
    return this.#retries;
  }

  /** The failures of the next event of a vehicle. */
  failuresOf(vehicle: VehicleKey): number {
    return this.#retries.get(vehicle)?.failures ?? 0;
  }

  /** The position right before the next event of a vehicle that waits. @throws Error for another one */
  positionOf(vehicle: VehicleKey): EventCursor {
    const retry = this.#retries.get(vehicle);
    if (!retry) throw new Error('the vehicle does not wait');
    return retry.position;
  }

  /** Whether the next attempt of a vehicle that waits is due. */
  isDue(vehicle: VehicleKey, now: Date): boolean {
    const retry = this.#retries.get(vehicle);
    return retry !== undefined && retry.nextAttemptAt <= now;
  }

  /** The vehicles whose next attempt is due. */
  dueAt(now: Date): VehicleKey[] {
    return [...this.#retries].filter(([, { nextAttemptAt }]) => nextAttemptAt <= now).map(([vehicle]) => vehicle);
  }

  /** The vehicle whose next attempt is due first, in an object because no vehicle is one too. */
  first(): { vehicle: VehicleKey } | undefined {
    let first: [VehicleKey, Retry] | undefined;
    for (const one of this.#retries) if (!first || one[1].nextAttemptAt < first[1].nextAttemptAt) first = one;
    return first && { vehicle: first[0] };
  }

  /** Makes every next attempt due: the receiver is back. */
  makeDue(now: Date): void {
    for (const [vehicle, retry] of this.#retries) this.#change(vehicle, retry, { nextAttemptAt: now });
  }

  /** Lets a vehicle wait whose event failed for the first time. @param position right before the event */
  add(vehicle: VehicleKey, position: EventCursor, { retryAfterMs }: Attempt, now: Date): void {
    const nextAttemptAt = new Date(now.getTime() + backOffMs(1, retryAfterMs));
    const retry = { position, failures: 1, failingSince: now, nextAttemptAt };
    this.#retries.set(vehicle, retry);
    this.#progress.retryChanged(vehicle, retry);
  }

  /**
   * Finds the next event of a vehicle, as it is now. A vehicle without one up to `readUntil()` waits no longer: further events
   * come with those of the others.
   */
  async next(vehicle: VehicleKey, readUntil: () => EventCursor, now: Date): Promise<PlatformEvent | undefined> {
    for (;;) {
      const retry = this.#retries.get(vehicle);
      if (!retry) return undefined;
      const page = this.#pages.get(vehicle) ?? (await this.#readPage(vehicle, retry.position));
      this.#pages.set(vehicle, page);
      const [event] = page.events;
      const hasCaughtUp = event ? isBefore(readUntil(), event.cursor) : !isBefore(page.next, readUntil());
      if (hasCaughtUp) {
        this.#remove(vehicle);
        return undefined;
      }
      if (event) return event;
      this.#pages.delete(vehicle);
      const hasMoved = isBefore(retry.position, page.next);
      const pause = hasMoved ? {} : { nextAttemptAt: new Date(now.getTime() + horizonPauseMs) };
      this.#change(vehicle, retry, { position: page.next, ...pause });
      if (!hasMoved) return undefined;
    }
  }

  /** Moves a vehicle behind an event that was delivered. */
  delivered(vehicle: VehicleKey, event: PlatformEvent, now: Date): void {
    this.#moveBehind(vehicle, event, { failingSince: now, nextAttemptAt: now });
  }

  /** Moves a vehicle behind an event that was given up; it is still failing. */
  gaveUp(vehicle: VehicleKey, event: PlatformEvent, now: Date): void {
    this.#moveBehind(vehicle, event, { nextAttemptAt: now });
  }

  /** @returns whether the vehicle has been failing for so long that its old events may be given up */
  failed(vehicle: VehicleKey, { retryAfterMs }: Attempt, now: Date): boolean {
    const retry = this.#retries.get(vehicle);
    if (!retry) return false;
    // Read again before the next attempt: privacy or a purge may have changed it.
    this.#pages.delete(vehicle);
    const failures = retry.failures + 1;
    const nextAttemptAt = new Date(now.getTime() + backOffMs(failures, retryAfterMs));
    this.#change(vehicle, retry, { failures, nextAttemptAt });
    return now.getTime() - retry.failingSince.getTime() >= patienceMs;
  }

  /** Moves a vehicle to a position, unless it is behind it already. */
  moveTo(vehicle: VehicleKey, position: EventCursor): void {
    const retry = this.#retries.get(vehicle);
    if (!retry || (retry.position.epoch === position.epoch && !isBefore(retry.position, position))) return;
    this.#pages.delete(vehicle);
    this.#change(vehicle, retry, { position, failures: 0 });
  }

  #moveBehind(vehicle: VehicleKey, event: PlatformEvent, change: Partial<Retry>): void {
    this.#pages.get(vehicle)?.events.shift();
    const retry = this.#retries.get(vehicle);
    if (retry) this.#change(vehicle, retry, { position: event.cursor, failures: 0, ...change });
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

  async #readPage(vehicle: VehicleKey, after: EventCursor) {
    if (vehicle !== undefined) {
      const { events, next } = await this.#read({
        after,
        limit: eventsPerPage,
        types: this.#types,
        vehicleIds: [vehicle],
      });
      return { events: [...events], next };
    }
    // Every reading is of a vehicle.
    const types = new Set([...this.#types].filter((type) => type !== 'reading.stored'));
    const { events, next } = await this.#read({ after, limit: eventsPerPage, types });
    return { events: events.filter(({ vehicleId }) => vehicleId === undefined), next };
  }
}
