import type { CommandOfVehicle } from './queries.ts';

/** A command as it last changed. */
export interface RecentCommand {
  readonly id: string;
  readonly vehicleId: number;
  /** As the stream sends it. */
  readonly json: string;
  /** UNIX milliseconds. */
  readonly changedAtMs: number;
}

/** Of more commands, those that changed longest ago are forgotten. */
const mostCommands = 10_000;

/** The commands that changed last, for browsers that resume. */
export class RecentCommands {
  /** In the order of their last change. */
  readonly #commands = new Map<string, RecentCommand>();
  /** All changes after this time are kept, UNIX milliseconds. */
  #forgottenUntilMs = 0;

  find(id: string): RecentCommand | undefined {
    return this.#commands.get(id);
  }

  /** Adds commands and returns those that changed. @param changedAtMs when a command changed, UNIX milliseconds */
  add(commands: readonly CommandOfVehicle[], changedAtMs: (id: string) => number): RecentCommand[] {
    const changed: RecentCommand[] = [];
    for (const { vehicleId, command } of commands) {
      const json = JSON.stringify(command);
      const { id } = command;
      if (this.#commands.get(id)?.json === json) continue;
      const recent = { id, vehicleId, json, changedAtMs: changedAtMs(id) };
      this.#commands.delete(id);
      this.#commands.set(id, recent);
      changed.push(recent);
    }
    for (const [id, oldest] of this.#commands) {
      if (this.#commands.size <= mostCommands) break;
      this.#commands.delete(id);
      this.#forgottenUntilMs = oldest.changedAtMs;
    }
    return changed;
  }

  /** Lists the commands that changed since a time; undefined if some of them are forgotten. */
  changedSince(ms: number): RecentCommand[] | undefined {
    if (ms <= this.#forgottenUntilMs) return undefined;
    return [...this.#commands.values()].filter(({ changedAtMs }) => changedAtMs >= ms);
  }
}
