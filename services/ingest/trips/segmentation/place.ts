import { greatCircleMetres } from '@odograph/contracts/great-circle';
import { seconds, type TripReading } from './trip-reading.ts';

/** Where a vehicle was, by position, by odometer, or both. */
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
const leastMetres = 50;
/** After this long without it, 50 m cannot be reached at the slowest speed any more. */
export const judgedAfterMicroseconds = seconds(leastMetres / slowestMetresPerSecond);

/** The place that a reading tells of; undefined when it tells of none. */
export function placeOf({ timeMicroseconds, latitude, longitude, mileageKm }: TripReading): Place | undefined {
  const hasPosition = latitude !== null && longitude !== null;
  if (!hasPosition && mileageKm === null) return undefined;
  return hasPosition
    ? { timeMicroseconds, latitude, longitude, mileageKm }
    : { timeMicroseconds, latitude: null, longitude: null, mileageKm };
}

/** How far apart in time a position or an odometer value may be from the moment that it stands for. */
export const sameMoment = seconds(10);

/** The later of two places, completed by what only the other one knows of the same moment. */
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

/** Metres between two places as the crow flies, else by odometer; null when neither is known of both. */
export function separationMetres(from: Place, to: Place): number | null {
  if (from.latitude !== null && from.longitude !== null && to.latitude !== null && to.longitude !== null) {
    return greatCircleMetres(from.latitude, from.longitude, to.latitude, to.longitude);
  }
  if (from.mileageKm === null || to.mileageKm === null) return null;
  return Math.max(0, to.mileageKm - from.mileageKm) * 1000;
}

const secondsBetween = (from: Place, to: Place) => (to.timeMicroseconds - from.timeMicroseconds) / seconds(1);

/** Whether a vehicle can have got so far in that time. */
export function isReachable(from: Place, to: Place, metres: number): boolean {
  return metres <= secondsBetween(from, to) * fastestMetresPerSecond;
}

/** Whether the vehicle must have been driven from one place to the other, `atLeastMetres` away (decisions: 1.11 m/s). */
export function wasDriven(from: Place, to: Place, atLeastMetres = leastMetres): boolean {
  const metres = separationMetres(from, to);
  if (metres === null || metres < atLeastMetres || !isReachable(from, to, metres)) return false;
  return metres >= secondsBetween(from, to) * slowestMetresPerSecond;
}

const leastMovingKmh = 5;

/** `pending`: a later reading will tell; `unknown`: nothing tells. */
export type Verdict = 'moving' | 'still' | 'pending' | 'unknown';

/** A verdict, and the place from which the next reading is judged. */
interface Judgement {
  verdict: Verdict;
  anchor: Place | null;
}

/** What the reading says itself: `movement`, else its speed. */
function ownVerdict({ movement, speedKmh }: TripReading): Verdict | undefined {
  if (movement !== null) return movement ? 'moving' : 'still';
  if (speedKmh !== null) return speedKmh >= leastMovingKmh ? 'moving' : 'still';
  return undefined;
}

function verdictOfPlaces(anchor: Place, place: Place): Verdict {
  if (wasDriven(anchor, place)) return 'moving';
  const metres = separationMetres(anchor, place);
  if (metres === null || !isReachable(anchor, place, metres)) return 'unknown';
  return place.timeMicroseconds - anchor.timeMicroseconds >= judgedAfterMicroseconds ? 'still' : 'pending';
}

/**
 * Whether the vehicle moves: `movement` if present, else speed from 5 km/h on, else 50 m at 1.11 m/s. The last of these
 * takes a stretch of readings from the anchor on, at most 45 s or one leg, in which the verdict is pending.
 */
export function judge(anchor: Place | null, reading: TripReading, place: Place | undefined): Judgement {
  const own = ownVerdict(reading);
  if (own) return { verdict: own, anchor: place ?? anchor };
  if (!place) return { verdict: 'unknown', anchor };
  const verdict = anchor ? verdictOfPlaces(anchor, place) : 'unknown';
  return { verdict, anchor: verdict === 'pending' ? anchor : place };
}
