import { type Area, contains, type Point } from './area.ts';
import type { LiveState, LiveVehicle } from './schemas.ts';

/** The latest state of a vehicle as the database has it; without position and speed while it is private. */
export interface LiveRow {
  readonly id: number;
  readonly applicationId: number;
  readonly appId: string;
  readonly plate: string;
  readonly vin: string;
  readonly brand: string;
  readonly model: string;
  readonly deviceId: string | null;
  readonly flags: LiveVehicle['flags'];
  /** The kinds of its open alarms. */
  readonly alarms: LiveVehicle['alarms'];
  readonly isPrivate: boolean;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly angle: number | null;
  readonly locationSpeed: number | null;
  readonly locatedAtMs: number | null;
  readonly ignition: boolean | null;
  readonly engine: string | null;
  readonly statusAtMs: number | null;
  readonly fleetSpeed: number | null;
  readonly fleetAtMs: number | null;
  readonly soc: number | null;
  readonly parkedAtMs: number | null;
  readonly contactAtMs: number | null;
}

/** Speeds above this are moving, in km/h; below, a parked vehicle's position may drift. */
const movingAboveKmh = 5;
const minuteMs = 60_000;
/** A moving vehicle without contact for this time is silent. */
const movingSilenceMs = 10 * minuteMs;
/** A parked vehicle without contact for this time is silent: devices report once a day while they sleep. */
const parkedSilenceMs = 25 * 60 * minuteMs;

/** The newer of the two reported speeds, with its device time. */
function lastSpeed({ locationSpeed, locatedAtMs, fleetSpeed, fleetAtMs }: LiveRow) {
  const located =
    locationSpeed === null || locatedAtMs === null ? undefined : { kmh: locationSpeed, atMs: locatedAtMs };
  const reported = fleetSpeed === null || fleetAtMs === null ? undefined : { kmh: fleetSpeed, atMs: fleetAtMs };
  if (!located || !reported) return located ?? reported;
  return reported.atMs > located.atMs ? reported : located;
}

/** Whether the last reading reports the ignition on, or a speed above 5 km/h that is not older than the ignition. */
function isMoving(row: LiveRow): boolean {
  if (row.ignition ?? row.engine === 'ON') return true;
  const speed = lastSpeed(row);
  return speed !== undefined && speed.kmh > movingAboveKmh && speed.atMs >= (row.statusAtMs ?? 0);
}

/** When a vehicle becomes silent unless it reports again, UNIX milliseconds; infinite for a private one. */
function silentFromMs(row: LiveRow): number {
  if (row.isPrivate) return Number.POSITIVE_INFINITY;
  if (row.contactAtMs === null) return 0;
  return row.contactAtMs + (isMoving(row) ? movingSilenceMs : parkedSilenceMs);
}

/** Decides the state of a vehicle (docs/interface.md, "Live stream"). */
export function liveState(row: LiveRow, nowMs: number): LiveState {
  if (row.isPrivate) return 'private';
  if (nowMs >= silentFromMs(row)) return 'silent';
  return isMoving(row) ? 'moving' : 'parked';
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** Writes a vehicle as the stream sends it. */
export function writeVehicle(row: LiveRow, state: LiveState): LiveVehicle {
  const { appId, plate, vin, brand, model, flags, alarms, latitude, longitude, angle, locatedAtMs, soc } = row;
  const speed = lastSpeed(row);
  const isLocated = latitude !== null && longitude !== null && locatedAtMs !== null;
  const isShown = state !== 'private';
  return {
    ...{ id: String(row.id), appId, plate, vin, brand, model, deviceId: row.deviceId ?? '', state, flags, alarms },
    ...(isShown &&
      isLocated && { location: { latitude, longitude, ...(angle !== null && { angle }), time: iso(locatedAtMs) } }),
    ...(isShown && speed && { speed: speed.kmh }),
    ...(soc !== null && { soc }),
    ...(isShown && !isMoving(row) && row.parkedAtMs !== null && { parkedSince: iso(row.parkedAtMs) }),
    ...(row.contactAtMs !== null && { lastContact: iso(row.contactAtMs) }),
  };
}

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
  /** Changes since then are known, and no vehicle has left the fleet since; UNIX milliseconds. */
  #knownFromMs = Number.POSITIVE_INFINITY;

  find(id: number): FleetVehicle | undefined {
    return this.#vehicles.get(id);
  }

  /** Lists the vehicles in an area; all without one, those without a position included. */
  within(area: Area | undefined): FleetVehicle[] {
    const all = [...this.#vehicles.values()];
    return area === undefined ? all : all.filter(({ location }) => location && contains(area, location));
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
      this.#vehicles.set(row.id, after);
      changes.push({ id: row.id, before, after });
    }
    for (const id of missing) {
      const before = this.#vehicles.get(id);
      if (!before) continue;
      this.#vehicles.delete(id);
      this.#forgetUntil(nowMs);
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
      this.#vehicles.set(row.id, describe(row, nowMs, Math.max(changedAtMs.get(row.id) ?? 0, silentSinceMs)));
    }
    for (const [id, atMs] of changedAtMs) if (!this.#vehicles.has(id)) this.#forgetUntil(atMs);
  }

  /** Updates vehicles that have become silent. */
  age(nowMs: number): VehicleChange[] {
    const silent = this.within(undefined).filter((one) => one.silentFromMs <= nowMs && one.state !== 'silent');
    return this.update(
      [],
      silent.map(({ row }) => row),
      nowMs,
    );
  }

  /**
   * Lists the vehicles that changed since a time, and shortly before; undefined if that is not known: it is too long ago, or
   * a vehicle has left the fleet since, and its application is unknown.
   */
  changedSince(ms: number, overlapMs: number): FleetVehicle[] | undefined {
    if (ms < this.#knownFromMs) return undefined;
    return this.within(undefined).filter(({ changedAtMs }) => changedAtMs >= ms - overlapMs);
  }

  #forgetUntil(ms: number): void {
    this.#knownFromMs = Math.max(this.#knownFromMs, ms + 1);
  }
}
