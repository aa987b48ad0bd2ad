import type { Position } from '../../pipeline/readings.ts';
import {
  fastestMetresPerSecond,
  isReachable,
  type Place,
  sameMoment,
  seconds,
  separationMetres,
  type TripReading,
} from './place.ts';

/** A monotonic counter that may be reset. */
interface Counter {
  first: number;
  last: number;
  beforeReset: number;
  samples: number;
}

/** A level that falls while driving and rises when it is filled. */
interface Level {
  from: number;
  lowest: number;
  last: number;
  beforeFilling: number;
  filling: boolean;
  samples: number;
}

/** Consumption of a journey so far, by source. */
export interface Consumption {
  fuelUsed: Counter | null;
  fuelLitres: Level | null;
  fuelPercent: Level | null;
  lifetimePower: Counter | null;
  soc: Level | null;
}

/** Consumption of a trip; null where unknown. `fuelPercent` only where litres are unknown. */
export interface Used {
  fuelLitres: number | null;
  fuelPercent: number | null;
  electricKwh: number | null;
}

const valueNames = ['fuelUsedLitres', 'fuelLitres', 'fuelPercent', 'lifetimePowerKwh', 'socPercent'] as const;
/** The last value of each source. */
export type Values = Pick<TripReading, (typeof valueNames)[number]>;

/** A rise from the lowest level by this much is a refill; less is noise, slosh or recuperation. */
const fillingLitres = 5;
const fillingPercent = 8;

const noConsumption = (): Consumption => ({
  ...{ fuelUsed: null, fuelLitres: null, fuelPercent: null, lifetimePower: null, soc: null },
});

export const noValues = (): Values => ({
  ...{ fuelUsedLitres: null, fuelLitres: null, fuelPercent: null, lifetimePowerKwh: null, socPercent: null },
});

/** Stores the values of a reading. */
export function keepValues(values: Values, reading: TripReading): void {
  for (const name of valueNames) values[name] = reading[name] ?? values[name];
}

/** Starts consumption at these values. */
export function begun(values: Values): Consumption {
  const consumption = noConsumption();
  consume(consumption, values);
  return consumption;
}

function count(counter: Counter | null, value: number): Counter {
  if (counter === null) return { first: value, last: value, beforeReset: 0, samples: 1 };
  if (value < counter.last) {
    counter.beforeReset += counter.last - counter.first;
    counter.first = value;
  }
  counter.last = value;
  counter.samples = 2;
  return counter;
}

function follow(level: Level | null, value: number, filledBy: number): Level {
  if (level === null) {
    return { from: value, lowest: value, last: value, beforeFilling: 0, filling: false, samples: 1 };
  }
  const filled = value - level.lowest >= filledBy || (level.filling && value >= level.last);
  if (filled) {
    level.beforeFilling += Math.max(0, level.from - level.lowest);
    level.from = value;
    level.lowest = value;
  }
  level.filling = filled;
  level.lowest = Math.min(level.lowest, value);
  level.last = value;
  level.samples = 2;
  return level;
}

/** Adds the fuel and energy values of a reading. */
export function consume(consumption: Consumption, reading: Values): void {
  const { fuelUsedLitres, fuelLitres, fuelPercent, lifetimePowerKwh, socPercent } = reading;
  if (fuelUsedLitres !== null) consumption.fuelUsed = count(consumption.fuelUsed, fuelUsedLitres);
  if (fuelLitres !== null) consumption.fuelLitres = follow(consumption.fuelLitres, fuelLitres, fillingLitres);
  if (fuelPercent !== null) consumption.fuelPercent = follow(consumption.fuelPercent, fuelPercent, fillingPercent);
  if (lifetimePowerKwh !== null) consumption.lifetimePower = count(consumption.lifetimePower, lifetimePowerKwh);
  if (socPercent !== null) consumption.soc = follow(consumption.soc, socPercent, fillingPercent);
}

/** A single value yields no difference. */
function counted(counter: Counter | null): number | null {
  if (counter === null || counter.samples < 2) return null;
  return counter.beforeReset + counter.last - counter.first;
}

function fallen(level: Level | null): number | null {
  if (level === null || level.samples < 2) return null;
  return level.beforeFilling + Math.max(0, level.from - level.last);
}

/** Returns the consumption (decisions: a counter, else drops of the level; never negative). */
export function used({ fuelUsed, ...levels }: Consumption, maxEnergyKwh: number | null): Used {
  const fuelLitres = counted(fuelUsed) ?? fallen(levels.fuelLitres);
  const soc = maxEnergyKwh === null ? null : fallen(levels.soc);
  return {
    fuelLitres,
    fuelPercent: fuelLitres === null ? fallen(levels.fuelPercent) : null,
    electricKwh: counted(levels.lifetimePower) ?? (soc === null ? null : (soc / 100) * (maxEnergyKwh ?? 0)),
  };
}

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
const maxLegMicroseconds = seconds(120);
const odometerNoiseKm = 1;

const hasPosition = (place: Place | undefined): place is Place => place !== undefined && place.latitude !== null;

/** Starts measuring at a reading. @param odometer the last value known by then */
function beginTravel(reading: TripReading, place: Place | undefined, odometer: OdometerValue | null): Travel {
  const isFresh = odometer !== null && reading.timeMicroseconds - odometer.timeMicroseconds <= odometerAgeMicroseconds;
  const start = isFresh ? odometer : null;
  return {
    ...{ pathMetres: 0, blindMetres: 0, point: hasPosition(place) ? place : null, hasGaps: false },
    ...{ odometerStart: start, odometerLast: start, odometerBroken: false },
  };
}

/** Adds the odometer value of a reading, moving or still. */
function readOdometer(travel: Travel, { timeMicroseconds, mileageKm }: TripReading): void {
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
function advance(travel: Travel, reading: TripReading, place: Place | undefined, lastTime: number): void {
  if (!hasPosition(place)) {
    const legSeconds = Math.min(reading.timeMicroseconds - lastTime, maxLegMicroseconds) / seconds(1);
    travel.blindMetres += (Math.max(0, reading.speedKmh ?? 0) / 3.6) * legSeconds;
    travel.hasGaps = true;
    return;
  }
  const since = travel.point?.timeMicroseconds;
  if (since === undefined || place.timeMicroseconds - since > maxLegMicroseconds) travel.hasGaps = true;
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
function distanceKm(travel: Travel, endMicroseconds: number, end: Place | undefined): number {
  const last = hasPosition(end) ? legMetres(travel, end) : travel.blindMetres;
  const pathKm = (travel.pathMetres + last) / 1000;
  const odometer = odometerKm(travel, endMicroseconds);
  return odometer !== null && isPlausible(odometer, pathKm, travel.hasGaps) ? odometer : pathKm;
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

/** Starts a journey at a reading. @param odometer the last value known by then */
export function beginJourney(reading: TripReading, place: Place | undefined, odometer: OdometerValue | null): Journey {
  return {
    ...{ startMicroseconds: reading.timeMicroseconds, firstPosition: null, lastFix: null, from: null },
    ...{ movingSinceMicroseconds: null, lastMovingMicroseconds: null, movingMicroseconds: 0, started: false },
    ...{ travel: beginTravel(reading, place, odometer), consumption: noConsumption() },
    ...{ still: null, pending: null, offSinceMicroseconds: null },
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
