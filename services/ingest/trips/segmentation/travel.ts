import { fastestMetresPerSecond, isReachable, type Place, separationMetres } from './place.ts';
import { seconds, type TripReading } from './trip-reading.ts';

interface OdometerValue {
  timeMicroseconds: number;
  km: number;
}

/** How far a journey has come. */
export interface Travel {
  pathMetres: number;
  /** By speed, since the last position: of readings that have none. */
  blindMetres: number;
  /** The position up to which the path is measured. */
  point: Place | null;
  /** Whether the path leaves out something: there were moving readings without a position, or long legs. */
  hasHoles: boolean;
  odometerStart: OdometerValue | null;
  odometerLast: OdometerValue | null;
  /** It ran backwards or jumped. */
  odometerBroken: boolean;
}

const odometerAgeMicroseconds = seconds(60);
const longestLegMicroseconds = seconds(120);
const odometerNoiseKm = 1;

const hasPosition = (place: Place | undefined): place is Place => place !== undefined && place.latitude !== null;

/** A journey that begins at a reading; `odometer` is the last value known by then. */
export function beginTravel(reading: TripReading, place: Place | undefined, odometer: OdometerValue | null): Travel {
  const isFresh = odometer !== null && reading.timeMicroseconds - odometer.timeMicroseconds <= odometerAgeMicroseconds;
  const start = isFresh ? odometer : null;
  return {
    pathMetres: 0,
    blindMetres: 0,
    point: hasPosition(place) ? place : null,
    hasHoles: false,
    odometerStart: start,
    odometerLast: start,
    odometerBroken: false,
  };
}

/** Follows the odometer, which a journey does whether the vehicle moves or not. */
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

/** Metres from where the path stands to a position; a jump of the receiver counts nothing. */
function legMetres({ point, blindMetres }: Travel, place: Place): number {
  if (!point) return blindMetres;
  const metres = separationMetres(point, place) ?? 0;
  return Math.max(isReachable(point, place, metres) ? metres : 0, blindMetres);
}

/** Goes on to a moving reading. @param lastTime when the reading before it was */
export function advance(travel: Travel, reading: TripReading, place: Place | undefined, lastTime: number): void {
  if (!hasPosition(place)) {
    const legSeconds = Math.min(reading.timeMicroseconds - lastTime, longestLegMicroseconds) / seconds(1);
    travel.blindMetres += (Math.max(0, reading.speedKmh ?? 0) / 3.6) * legSeconds;
    travel.hasHoles = true;
    return;
  }
  const since = travel.point?.timeMicroseconds;
  if (since === undefined || place.timeMicroseconds - since > longestLegMicroseconds) travel.hasHoles = true;
  travel.pathMetres += legMetres(travel, place);
  travel.point = place;
  travel.blindMetres = 0;
}

/** The difference of the odometer if both ends have a value and it never ran backwards or jumped, else null. */
function odometerKm({ odometerStart, odometerLast, odometerBroken }: Travel, endMicroseconds: number): number | null {
  if (!odometerStart || !odometerLast || odometerBroken) return null;
  if (endMicroseconds - odometerLast.timeMicroseconds > odometerAgeMicroseconds) return null;
  const km = odometerLast.km - odometerStart.km;
  return km >= 0 ? km : null;
}

/** Whether an odometer's distance goes with the path: never much shorter, nor a multiple of one that has no holes. */
function isPlausible(odometer: number, pathKm: number, hasHoles: boolean): boolean {
  if (odometer < 0.8 * pathKm - 0.1) return false;
  return hasHoles || pathKm < 1 || odometer <= 3 * pathKm;
}

/** How far from the start to the end, km (decisions: odometer if plausible, else the sum of great-circle legs). */
export function distanceKm(travel: Travel, endMicroseconds: number, end: Place | undefined): number {
  const last = hasPosition(end) ? legMetres(travel, end) : travel.blindMetres;
  const pathKm = (travel.pathMetres + last) / 1000;
  const odometer = odometerKm(travel, endMicroseconds);
  return odometer !== null && isPlausible(odometer, pathKm, travel.hasHoles) ? odometer : pathKm;
}
