import { type Area, contains, Grid, type Point } from './area.ts';
import { type LiveRow, liveState, silentFromMs, writeVehicle } from './rules.ts';
import type { LiveState } from './schemas.ts';

/** A vehicle of the index; replaced, never changed, so that a change holds both of its states. */
export interface FleetVehicle {
  readonly id: number;
  readonly applicationId: number;
  readonly state: LiveState;
  /** Undefined for a vehicle that is private or has none. */
  readonly location: Point | undefined;
  /** As the stream sends it. */
  readonly json: string;
  /** When it last changed, UNIX milliseconds; 0 before the index was loaded. */
  readonly changedAtMs: number;
  /** When it becomes silent unless it reports again, UNIX milliseconds. */
  readonly silentFromMs: number;
  readonly row: LiveRow;
}

/** A change of one vehicle, which is missing in a state in which it was archived, deleted or not created yet. */
export interface VehicleChange {
  readonly id: number;
  readonly before: FleetVehicle | undefined;
  readonly after: FleetVehicle | undefined;
}

function describe(row: LiveRow, nowMs: number, changedAtMs: number): FleetVehicle {
  const { id, applicationId } = row;
  const state = liveState(row, nowMs);
  const vehicle = writeVehicle(row, state);
  const { location } = vehicle;
  const json = JSON.stringify(vehicle);
  return { id, applicationId, state, location, json, changedAtMs, silentFromMs: silentFromMs(row), row };
}

/**
 * The fleet in memory, from which all streams are served: the latest state of every vehicle that is neither archived nor
 * deleted, each written as JSON once for all streams.
 */
export class LiveFleet {
  readonly #vehicles = new Map<number, FleetVehicle>();
  readonly #grid = new Grid<FleetVehicle>();
  /** Changes since then are known, and no vehicle has left the fleet since; UNIX milliseconds. */
  #knownFromMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#vehicles.size;
  }

  find(id: number): FleetVehicle | undefined {
    return this.#vehicles.get(id);
  }

  /** Lists the vehicles in an area; all without one, those without a position included. */
  *within(area: Area | undefined): Iterable<FleetVehicle> {
    if (area === undefined) {
      yield* this.#vehicles.values();
      return;
    }
    for (const vehicle of this.#grid.near(area)) {
      if (vehicle.location && contains(area, vehicle.location)) yield vehicle;
    }
  }

  /** Updates vehicles. @param ids of the vehicles that were read; those without a row have left the fleet */
  update(ids: Iterable<number>, rows: readonly LiveRow[], nowMs: number): VehicleChange[] {
    const missing = new Set(ids);
    const changes: VehicleChange[] = [];
    for (const row of rows) {
      missing.delete(row.id);
      const before = this.#vehicles.get(row.id);
      const after = describe(row, nowMs, nowMs);
      if (before?.json === after.json && before.silentFromMs === after.silentFromMs) continue;
      this.#replace(before, after);
      changes.push({ id: row.id, before, after });
    }
    for (const id of missing) {
      const before = this.#vehicles.get(id);
      if (!before) continue;
      this.#remove(before, nowMs);
      changes.push({ id, before, after: undefined });
    }
    return changes;
  }

  /** Replaces the whole fleet. */
  reload(rows: readonly LiveRow[], nowMs: number): VehicleChange[] {
    return this.update([...this.#vehicles.keys()], rows, nowMs);
  }

  /** Fills an empty fleet. @param changedAtMs when vehicles changed that changed since `knownFromMs`, UNIX milliseconds */
  load(
    rows: readonly LiveRow[],
    nowMs: number,
    { changedAtMs, knownFromMs }: { changedAtMs: ReadonlyMap<number, number>; knownFromMs: number },
  ): void {
    this.#knownFromMs = knownFromMs;
    for (const row of rows) {
      const silentSinceMs = silentFromMs(row) <= nowMs ? silentFromMs(row) : 0;
      this.#replace(undefined, describe(row, nowMs, Math.max(changedAtMs.get(row.id) ?? 0, silentSinceMs)));
    }
    for (const [id, atMs] of changedAtMs) if (!this.#vehicles.has(id)) this.#forgetUntil(atMs);
  }

  /** Updates vehicles that have become silent. */
  age(nowMs: number): VehicleChange[] {
    const rows: LiveRow[] = [];
    for (const { state, silentFromMs: fromMs, row } of this.#vehicles.values()) {
      if (fromMs <= nowMs && state !== 'silent') rows.push(row);
    }
    return this.update([], rows, nowMs);
  }

  /**
   * Lists the vehicles that changed since a time, and shortly before; undefined if that is not known: it is too long ago, or
   * a vehicle has left the fleet since, whose application is not known any more.
   */
  changedSince(ms: number, overlapMs: number): FleetVehicle[] | undefined {
    if (ms < this.#knownFromMs) return undefined;
    return [...this.#vehicles.values()].filter(({ changedAtMs }) => changedAtMs >= ms - overlapMs);
  }

  #replace(before: FleetVehicle | undefined, after: FleetVehicle): void {
    if (before?.location) this.#grid.delete(before, before.location);
    if (after.location) this.#grid.add(after, after.location);
    this.#vehicles.set(after.id, after);
  }

  #remove(vehicle: FleetVehicle, nowMs: number): void {
    if (vehicle.location) this.#grid.delete(vehicle, vehicle.location);
    this.#vehicles.delete(vehicle.id);
    this.#forgetUntil(nowMs);
  }

  #forgetUntil(ms: number): void {
    this.#knownFromMs = Math.max(this.#knownFromMs, ms + 1);
  }
}
