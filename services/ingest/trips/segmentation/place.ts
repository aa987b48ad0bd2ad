import { greatCircleMetres } from '@odograph/contracts/positions';

/** The fields of a reading that trips are made from; null where absent. */
export interface TripReading {
  timeMicroseconds: number;
  latitude: number | null;
  longitude: number | null;
  ignition: boolean | null;
  movement: boolean | null;
  speedKmh: number | null;
  mileageKm: number | null;
  /** A monotonic counter. */
  fuelUsedLitres: number | null;
  fuelLitres: number | null;
  fuelPercent: number | null;
  /** A monotonic counter. */
  lifetimePowerKwh: number | null;
  socPercent: number | null;
  maxEnergyKwh: number | null;
}

const microsecondsPerSecond = 1_000_000;

/** Converts seconds to microseconds, the unit of all times in segmentation. */
export const seconds = (count: number): number => count * microsecondsPerSecond;

/** A place by position, by odometer, or both. */
export interface Place {
  timeMicroseconds: number;
  latitude: number | null;
  longitude: number | null;
  mileageKm: number | null;
}

/** Faster than any vehicle on a road (360 km/h): a jump of the receiver or of the odometer. */
export const fastestMetresPerSecond = 100;
/** Slower than this is not driving: a walk of 4 km/h. */
const slowestMetresPerSecond = 1.11;
const minMetres = 50;
/** The time that 50 m take at the lowest driving speed. */
const judgedAfterMicroseconds = seconds(minMetres / slowestMetresPerSecond);

/** Returns the place of a reading; undefined without position and odometer. */
export function placeOf({ timeMicroseconds, latitude, longitude, mileageKm }: TripReading): Place | undefined {
  const hasPosition = latitude !== null && longitude !== null;
  if (!hasPosition && mileageKm === null) return undefined;
  return hasPosition
    ? { timeMicroseconds, latitude, longitude, mileageKm }
    : { timeMicroseconds, latitude: null, longitude: null, mileageKm };
}

/** How old a position or odometer value may be to count as current. */
export const sameMoment = seconds(10);

/** Returns the later of two places, completed by values of the earlier one if that is current. */
export function joinPlaces(earlier: Place | null, later: Place): Place {
  if (!earlier || later.timeMicroseconds - earlier.timeMicroseconds > sameMoment) return later;
  const positioned = later.latitude === null ? earlier : later;
  return {
    timeMicroseconds: later.timeMicroseconds,
    latitude: positioned.latitude,
    longitude: positioned.longitude,
    mileageKm: later.mileageKm ?? earlier.mileageKm,
  };
}

/** Returns the great-circle distance, else the odometer difference; null when neither is known. */
export function separationMetres(from: Place, to: Place): number | null {
  if (from.latitude !== null && from.longitude !== null && to.latitude !== null && to.longitude !== null) {
    return greatCircleMetres(from.latitude, from.longitude, to.latitude, to.longitude);
  }
  if (from.mileageKm === null || to.mileageKm === null) return null;
  return Math.max(0, to.mileageKm - from.mileageKm) * 1000;
}

const secondsBetween = (from: Place, to: Place) => (to.timeMicroseconds - from.timeMicroseconds) / seconds(1);

/** Whether the distance is possible in the time between two places. */
export function isReachable(from: Place, to: Place, metres: number): boolean {
  return metres <= secondsBetween(from, to) * fastestMetresPerSecond;
}

/** Whether the distance between two places implies a drive of `atLeastMetres` (decisions: 1.11 m/s). */
export function wasDriven(from: Place, to: Place, atLeastMetres = minMetres): boolean {
  const metres = separationMetres(from, to);
  if (metres === null || metres < atLeastMetres || !isReachable(from, to, metres)) return false;
  return metres >= secondsBetween(from, to) * slowestMetresPerSecond;
}

const minMovingKmh = 5;

/** `pending`: decided by a later reading; `unknown`: undecidable. */
export type Verdict = 'moving' | 'still' | 'pending' | 'unknown';

/** The verdict of the reading alone: `movement`, else its speed. */
function ownVerdict({ movement, speedKmh }: TripReading): Verdict | undefined {
  if (movement !== null) return movement ? 'moving' : 'still';
  if (speedKmh !== null) return speedKmh >= minMovingKmh ? 'moving' : 'still';
  return undefined;
}

function verdictOfPlaces(anchor: Place, place: Place): Verdict {
  if (wasDriven(anchor, place)) return 'moving';
  const metres = separationMetres(anchor, place);
  if (metres === null || !isReachable(anchor, place, metres)) return 'unknown';
  return place.timeMicroseconds - anchor.timeMicroseconds >= judgedAfterMicroseconds ? 'still' : 'pending';
}

/**
 * Decides whether the vehicle moves: by `movement`, else by a speed of at least 5 km/h, else by 50 m at 1.11 m/s, for which
 * the verdict is pending until 45 s after the anchor. @returns the anchor for the next reading, too
 */
export function judge(
  anchor: Place | null,
  reading: TripReading,
  place: Place | undefined,
): { verdict: Verdict; anchor: Place | null } {
  const own = ownVerdict(reading);
  if (own) return { verdict: own, anchor: place ?? anchor };
  if (!place) return { verdict: 'unknown', anchor };
  const verdict = anchor ? verdictOfPlaces(anchor, place) : 'unknown';
  return { verdict, anchor: verdict === 'pending' ? anchor : place };
}
