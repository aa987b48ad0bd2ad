import { type EventCursor, isBefore } from '@odograph/event-list/cursor';
import type { EventPage, PlatformEvent } from '@odograph/event-list/read-events';
import type { VehicleKey } from './queries.ts';

/** An event that was read and is not delivered yet. */
export interface WindowEntry {
  readonly event: PlatformEvent;
  /** A position right before it. */
  readonly before: EventCursor;
  isDone: boolean;
}

/**
 * The events between what was read from the list and what is done with. Each vehicle has its own queue; the position moves
 * over events only in the order of the list, so that after a crash none is left out.
 */
export class EventWindow {
  #entries: WindowEntry[] = [];
  #queues = new Map<VehicleKey, WindowEntry[]>();
  #position: EventCursor;
  #readUntil: EventCursor;

  constructor(position: EventCursor) {
    this.#position = position;
    this.#readUntil = position;
  }

  /** Everything up to here is done with. */
  get position(): EventCursor {
    return this.#position;
  }

  /** Everything up to here was read. */
  get readUntil(): EventCursor {
    return this.#readUntil;
  }

  get size(): number {
    return this.#entries.length;
  }

  /**
   * Adds the page behind what was read.
   * @param waits whether the events of a vehicle are read again later: they count as done
   * @returns the vehicles of the other events
   */
  add({ events, next }: EventPage, waits: (vehicle: VehicleKey) => boolean): Set<VehicleKey> {
    const added = new Set<VehicleKey>();
    for (const event of events) {
      const entry = { event, before: this.#readUntil, isDone: waits(event.vehicleId) };
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

  /** The next event of a vehicle. */
  firstOf(vehicle: VehicleKey): WindowEntry | undefined {
    return this.#queues.get(vehicle)?.[0];
  }

  /** Is done with the first event of its vehicle; has no effect on one that was forgotten. */
  finish(entry: WindowEntry): void {
    const { vehicleId } = entry.event;
    const queue = this.#queues.get(vehicleId);
    if (queue?.[0] !== entry) return;
    queue.shift();
    entry.isDone = true;
    if (queue.length === 0) this.#queues.delete(vehicleId);
    this.#advance();
  }

  /** Is done with all events of a vehicle, which are read again later. */
  finishAll(vehicle: VehicleKey): void {
    for (const entry of this.#queues.get(vehicle) ?? []) entry.isDone = true;
    this.#queues.delete(vehicle);
    this.#advance();
  }

  /** Forgets everything that is not done with, and continues at another position. */
  restart(position: EventCursor): void {
    this.#entries = [];
    this.#queues.clear();
    this.#position = position;
    this.#readUntil = position;
  }

  #advance(): void {
    const done = this.#entries.findIndex(({ isDone }) => !isDone);
    const finished = this.#entries.splice(0, done === -1 ? this.#entries.length : done);
    const last = finished.at(-1);
    if (this.#entries.length === 0) this.#position = this.#readUntil;
    else if (last) this.#position = last.event.cursor;
  }
}
