import { fastestMetresPerSecond, isReachable, type Place, separationMetres } from './place.ts';
import { seconds, type TripReading } from './trip-reading.ts';

interface OdometerValue {
  timeMicroseconds: number;
  km: number;
}

/** The distance of a journey so far. */
export interface Travel {
  pathMetres: number;
  /** Distance by speed since the last position, of readings without one. */
  blindMetres: number;
  /** The position up to which the path is measured. */
  point: Place | null;
  /** Whether the path is incomplete: moving readings without a position, or long legs. */
  hasGaps: boolean;
  odometerStart: OdometerValue | null;
  odometerLast: OdometerValue | null;
  /** The odometer ran backwards or jumped. */
  odometerBroken: boolean;
}

const odometerAgeMicroseconds = seconds(60);
const longestLegMicroseconds = seconds(120);
const odometerNoiseKm = 1;

const hasPosition = (place: Place | undefined): place is Place => place !== undefined && place.latitude !== null;

/** Starts measuring at a reading. @param odometer the last value known by then */
export function beginTravel(reading: TripReading, place: Place | undefined, odometer: OdometerValue | null): Travel {
  const isFresh = odometer !== null && reading.timeMicroseconds - odometer.timeMicroseconds <= odometerAgeMicroseconds;
  const start = isFresh ? odometer : null;
  return {
    pathMetres: 0,
    blindMetres: 0,
    point: hasPosition(place) ? place : null,
    hasGaps: false,
    odometerStart: start,
    odometerLast: start,
    odometerBroken: false,
  };
}

/** Adds the odometer value of a reading, moving or still. */
export function readOdometer(travel: Travel, { timeMicroseconds, mileageKm }: TripReading): void {
  if (mileageKm === null) return;
  const last = travel.odometerLast;
  if (last) {
    const step = mileageKm - last.km;
    const reachableKm = ((timeMicroseconds - last.timeMicroseconds) / seconds(1)) * (fastestMetresPerSecond / 1000);
    if (step < -odometerNoiseKm || step > reachableKm + odometerNoiseKm) travel.odometerBroken = true;
  }
  travel.odometerLast = { timeMicroseconds, km: mileageKm };
}

/** Metres from the end of the path to a position; a jump of the receiver counts as 0. */
function legMetres({ point, blindMetres }: Travel, place: Place): number {
  if (!point) return blindMetres;
  const metres = separationMetres(point, place) ?? 0;
  return Math.max(isReachable(point, place, metres) ? metres : 0, blindMetres);
}

/** Extends the path to a moving reading. @param lastTime of the previous reading */
export function advance(travel: Travel, reading: TripReading, place: Place | undefined, lastTime: number): void {
  if (!hasPosition(place)) {
    const legSeconds = Math.min(reading.timeMicroseconds - lastTime, longestLegMicroseconds) / seconds(1);
    travel.blindMetres += (Math.max(0, reading.speedKmh ?? 0) / 3.6) * legSeconds;
    travel.hasGaps = true;
    return;
  }
  const since = travel.point?.timeMicroseconds;
  if (since === undefined || place.timeMicroseconds - since > longestLegMicroseconds) travel.hasGaps = true;
  travel.pathMetres += legMetres(travel, place);
  travel.point = place;
  travel.blindMetres = 0;
}

/** Returns the odometer difference; null unless both ends have a value and the odometer is consistent. */
function odometerKm({ odometerStart, odometerLast, odometerBroken }: Travel, endMicroseconds: number): number | null {
  if (!odometerStart || !odometerLast || odometerBroken) return null;
  if (endMicroseconds - odometerLast.timeMicroseconds > odometerAgeMicroseconds) return null;
  const km = odometerLast.km - odometerStart.km;
  return km >= 0 ? km : null;
}

/** Whether the odometer distance fits the path: not much shorter, and no multiple of a complete path. */
function isPlausible(odometer: number, pathKm: number, hasGaps: boolean): boolean {
  if (odometer < 0.8 * pathKm - 0.1) return false;
  return hasGaps || pathKm < 1 || odometer <= 3 * pathKm;
}

/** Returns the distance in km (decisions: odometer if plausible, else the sum of great-circle legs). */
export function distanceKm(travel: Travel, endMicroseconds: number, end: Place | undefined): number {
  const last = hasPosition(end) ? legMetres(travel, end) : travel.blindMetres;
  const pathKm = (travel.pathMetres + last) / 1000;
  const odometer = odometerKm(travel, endMicroseconds);
  return odometer !== null && isPlausible(odometer, pathKm, travel.hasGaps) ? odometer : pathKm;
}
