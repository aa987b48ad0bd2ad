import type { EventOfVehicle } from './queries.ts';

/** A command or an alarm as it last changed. */
export interface RecentEvent {
  readonly id: string;
  readonly vehicleId: number;
  readonly event: EventOfVehicle['event'];
  /** As the stream sends it. */
  readonly json: string;
  /** UNIX milliseconds. */
  readonly changedAtMs: number;
}

/** Of more events, those that changed longest ago are forgotten. */
const mostEvents = 10_000;

/** The commands and alarms that changed last, for clients that resume. */
export class RecentEvents {
  /** In the order of their last change. */
  readonly #events = new Map<string, RecentEvent>();
  /** All changes after this time are kept, UNIX milliseconds. */
  #forgottenUntilMs = 0;

  /**
   * Takes in commands and alarms, and returns those that changed.
   * @param ids of those that were read; one that was not found is forgotten: an alarm is deleted when its time becomes private
   * @param changedAtMs when one of them changed, UNIX milliseconds
   */
  update(ids: Iterable<string>, found: readonly EventOfVehicle[], changedAtMs: (id: string) => number): RecentEvent[] {
    const missing = new Set(ids);
    const changed: RecentEvent[] = [];
    for (const { vehicleId, event, data } of found) {
      const json = JSON.stringify(data);
      const { id } = data;
      missing.delete(id);
      if (this.#events.get(id)?.json === json) continue;
      const recent = { id, vehicleId, event, json, changedAtMs: changedAtMs(id) };
      this.#events.delete(id);
      this.#events.set(id, recent);
      changed.push(recent);
    }
    for (const id of missing) this.#events.delete(id);
    for (const [id, oldest] of this.#events) {
      if (this.#events.size <= mostEvents) break;
      this.#events.delete(id);
      this.#forgottenUntilMs = oldest.changedAtMs;
    }
    return changed;
  }

  /** Lists the events that changed since a time; undefined if some of them are forgotten. */
  changedSince(ms: number): RecentEvent[] | undefined {
    if (ms <= this.#forgottenUntilMs) return undefined;
    return [...this.#events.values()].filter(({ changedAtMs }) => changedAtMs >= ms);
  }
}
