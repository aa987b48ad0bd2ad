import { type Consumption, consume, noConsumption, type Used, used } from './consumption.ts';
import { type Place, sameMoment, separationMetres } from './place.ts';
import { advance, beginTravel, distanceKm, readOdometer, type Travel } from './travel.ts';
import { seconds, type TripReading } from './trip-reading.ts';

interface Position {
  latitude: number;
  longitude: number;
}

/** A trip as it is stored. */
export interface Trip extends Used {
  startMicroseconds: number;
  endMicroseconds: number;
  distanceKm: number;
  /** Null in a privacy interval and when unknown within 10 s. */
  firstPosition: Position | null;
  lastPosition: Position | null;
  /** Driven across a time gap between readings. */
  inferred: boolean;
}

/** The end of a journey if it ends at this time; a snapshot, because it may continue. */
interface Ending extends Used {
  timeMicroseconds: number;
  distanceKm: number;
  position: Position | null;
}

/** A candidate for a trip: since the ignition came on, or since the first moving reading. */
export interface Journey {
  startMicroseconds: number;
  firstPosition: Position | null;
  lastFix: Place | null;
  /** The first known place, from which the start is measured. */
  from: Place | null;
  /** The first moving reading; null while the vehicle has not moved. */
  movingSinceMicroseconds: number | null;
  lastMovingMicroseconds: number | null;
  /** Time in motion, without stops. */
  movingMicroseconds: number;
  /** Whether it has gone far enough to be a trip. */
  started: boolean;
  travel: Travel;
  consumption: Consumption;
  /** Its end if the vehicle does not move again: at the first still reading. */
  still: Ending | null;
  /** The same for a reading whose verdict is pending. */
  pending: Ending | null;
  offSinceMicroseconds: number | null;
}

const keptFromKm = 0.2;
const startMetres = 200;
const slowStartMetres = 100;
const slowStart = seconds(60);
const triedFor = seconds(300);

export function positionOf(place: Place | null | undefined): Position | null {
  if (!place || place.latitude === null || place.longitude === null) return null;
  return { latitude: place.latitude, longitude: place.longitude };
}

/** Starts a journey at a reading. @param odometer the last odometer value known by then */
export function beginJourney(
  reading: TripReading,
  place: Place | undefined,
  odometer: Travel['odometerLast'],
): Journey {
  return {
    startMicroseconds: reading.timeMicroseconds,
    firstPosition: null,
    lastFix: null,
    from: null,
    movingSinceMicroseconds: null,
    lastMovingMicroseconds: null,
    movingMicroseconds: 0,
    started: false,
    travel: beginTravel(reading, place, odometer),
    consumption: noConsumption(),
    still: null,
    pending: null,
    offSinceMicroseconds: null,
  };
}

/** Adds a reading, moving or still, to a journey. */
export function addReading(journey: Journey, reading: TripReading, place: Place | undefined): void {
  consume(journey.consumption, reading);
  readOdometer(journey.travel, reading);
  if (!place) return;
  journey.from ??= place;
  if (place.latitude === null) return;
  journey.lastFix = place;
  if (journey.firstPosition === null && reading.timeMicroseconds - journey.startMicroseconds <= sameMoment) {
    journey.firstPosition = positionOf(place);
  }
}

/** Returns the end of the journey if it ends at this reading. Call it after `addReading`. */
export function endingAt(journey: Journey, timeMicroseconds: number, maxEnergyKwh: number | null): Ending {
  const fix = journey.lastFix;
  const end = fix && timeMicroseconds - fix.timeMicroseconds <= sameMoment ? fix : null;
  return {
    timeMicroseconds,
    distanceKm: distanceKm(journey.travel, timeMicroseconds, end ?? undefined),
    position: positionOf(end),
    ...used(journey.consumption, maxEnergyKwh),
  };
}

/** Converts a journey to a trip; undefined when it did not start or covered less than 200 m. */
export function tripOf(journey: Journey, ending: Ending): Trip | undefined {
  const { timeMicroseconds, position, ...rest } = ending;
  if (!journey.started || ending.distanceKm < keptFromKm || timeMicroseconds <= journey.startMicroseconds) {
    return undefined;
  }
  return {
    startMicroseconds: journey.startMicroseconds,
    endMicroseconds: timeMicroseconds,
    firstPosition: journey.firstPosition,
    lastPosition: position,
    inferred: false,
    ...rest,
  };
}

function metresFromStart(journey: Journey, place: Place | undefined): number {
  const { odometerStart, odometerLast, odometerBroken, blindMetres } = journey.travel;
  const odometer = odometerStart && odometerLast && !odometerBroken ? (odometerLast.km - odometerStart.km) * 1000 : 0;
  const straight = (journey.from && place && separationMetres(journey.from, place)) ?? 0;
  return Math.max(odometer, straight, blindMetres);
}

/**
 * Continues a journey with a moving reading. Call it after `addReading`. A journey starts 200 m from its first place, or
 * 100 m from it after 60 s in motion.
 * @returns false when it did not start within 300 s, so that a new one begins
 */
export function drive(journey: Journey, reading: TripReading, place: Place | undefined, lastTime: number): boolean {
  const { timeMicroseconds } = reading;
  journey.movingSinceMicroseconds ??= timeMicroseconds;
  if (!journey.still)
    journey.movingMicroseconds += timeMicroseconds - (journey.lastMovingMicroseconds ?? timeMicroseconds);
  journey.lastMovingMicroseconds = timeMicroseconds;
  journey.still = null;
  journey.pending = null;
  advance(journey.travel, reading, place, lastTime);
  if (journey.started) return true;
  const metres = metresFromStart(journey, place);
  journey.started = metres >= startMetres || (metres >= slowStartMetres && journey.movingMicroseconds >= slowStart);
  return journey.started || timeMicroseconds - journey.movingSinceMicroseconds <= triedFor;
}
