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
export function silentFromMs(row: LiveRow): number {
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
