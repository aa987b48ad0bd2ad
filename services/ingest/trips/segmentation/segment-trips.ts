import {
  addReading,
  beginJourney,
  begun,
  type Consumption,
  consume,
  drive,
  endingAt,
  type Journey,
  keepValues,
  noValues,
  positionOf,
  type Travel,
  type Trip,
  tripOf,
  used,
  type Values,
} from './journey.ts';
import {
  isReachable,
  joinPlaces,
  judge,
  type Place,
  placeOf,
  sameMoment,
  seconds,
  separationMetres,
  type TripReading,
  type Verdict,
  wasDriven,
} from './place.ts';

/** A time gap whose end is not known yet, because the first readings after it may lack a place. */
interface Gap {
  fromMicroseconds: number;
  untilMicroseconds: number;
  before: Place | null;
  after: Place | null;
  wasOff: boolean;
  consumption: Consumption;
}

const inferredFromMetres = 200;

function odometerKm(from: Place, to: Place, metres: number): number | null {
  if (from.mileageKm === null || to.mileageKm === null) return null;
  const km = to.mileageKm - from.mileageKm;
  const isPlausible = isReachable(from, to, km * 1000) && km >= (0.8 * metres) / 1000 - 0.1;
  return isPlausible ? km : null;
}

function acrossGap(gap: Gap, maxEnergyKwh: number | null): Trip | undefined {
  const { before, after, consumption, fromMicroseconds, untilMicroseconds } = gap;
  if (!before || !after || !wasDriven(before, after, inferredFromMetres)) return undefined;
  const metres = separationMetres(before, after) ?? 0;
  return {
    startMicroseconds: fromMicroseconds,
    endMicroseconds: untilMicroseconds,
    distanceKm: odometerKm(before, after, metres) ?? metres / 1000,
    firstPosition: positionOf(before),
    lastPosition: positionOf(after),
    inferred: true,
    ...used(consumption, maxEnergyKwh),
  };
}

/** Whether later readings may still supply a comparable place. */
function isWaiting({ before, after }: Gap): boolean {
  if (!before) return false;
  return after === null || (before.latitude !== null && after.latitude === null);
}

/**
 * Decides whether the vehicle was driven across the gap, as soon as there is a position after it, at the latest after 10 s.
 * A gap with the ignition off on both sides is no drive; it may be a tow or a ferry.
 */
function inferTrip(
  state: { gap: Gap | null; maxEnergyKwh: number | null },
  reading: TripReading,
  place: Place | undefined,
  trips: Trip[],
): void {
  const { gap } = state;
  if (!gap) return;
  const isLate = reading.timeMicroseconds - gap.untilMicroseconds > sameMoment;
  const isOffOnBothSides = gap.wasOff && reading.ignition === false;
  if (!isLate) {
    if (place) gap.after = joinPlaces(gap.after, place);
    consume(gap.consumption, reading);
    if (isWaiting(gap) && !isOffOnBothSides) return;
  }
  state.gap = null;
  const trip = isOffOnBothSides ? undefined : acrossGap(gap, state.maxEnergyKwh);
  if (trip) trips.push(trip);
}

/**
 * The complete state of segmentation after a reading, as plain data that can be stored and resumed from. Equal states lead
 * to equal trips.
 */
export interface SegmentState {
  lastMicroseconds: number | null;
  ignition: boolean | null;
  place: Place | null;
  odometer: Travel['odometerLast'];
  maxEnergyKwh: number | null;
  values: Values;
  /** The place from which motion is judged by places alone. */
  anchor: Place | null;
  journey: Journey | null;
  gap: Gap | null;
}

const maxGapMicroseconds = seconds(3600);
const stillFor = seconds(300);
const offFor = seconds(60);
const ignitionBefore = seconds(120);
/** Between readings further apart than this the vehicle may have been driven, whatever they report. */
const unseen = seconds(120);

export const noReadings = (): SegmentState => ({
  ...{ lastMicroseconds: null, ignition: null, place: null, odometer: null, maxEnergyKwh: null, values: noValues() },
  ...{ anchor: null, journey: null, gap: null },
});

function endJourney(state: SegmentState, ending: Journey['still'], trips: Trip[]): void {
  const trip = state.journey && ending && tripOf(state.journey, ending);
  if (trip) trips.push(trip);
  state.journey = null;
}

/** Returns the end of the journey if no reading follows: its first still reading, else its last reading. */
function endingOf({ journey, lastMicroseconds, maxEnergyKwh }: SegmentState): Journey['still'] {
  if (!journey || lastMicroseconds === null) return null;
  return journey.still ?? endingAt(journey, lastMicroseconds, maxEnergyKwh);
}

/** Ends the journey at a time gap and discards the state of motion and ignition. */
function crossGap(state: SegmentState, reading: TripReading, lastMicroseconds: number, trips: Trip[]): void {
  endJourney(state, endingOf(state), trips);
  state.gap = {
    fromMicroseconds: lastMicroseconds,
    untilMicroseconds: reading.timeMicroseconds,
    before: state.place && lastMicroseconds - state.place.timeMicroseconds <= sameMoment ? state.place : null,
    after: null,
    wasOff: state.ignition === false,
    consumption: begun(state.values),
  };
  state.ignition = null;
  state.anchor = null;
  state.place = null;
  state.odometer = null;
}

/** Ends a journey whose vehicle was still for 300 s, or for 60 s with the ignition off. */
function endIfStopped(state: SegmentState, reading: TripReading, continued: boolean, trips: Trip[]): void {
  const { journey, lastMicroseconds } = state;
  if (!journey?.still) return;
  const until = continued && lastMicroseconds !== null ? lastMicroseconds : reading.timeMicroseconds;
  const off = journey.offSinceMicroseconds;
  if (until - journey.still.timeMicroseconds >= stillFor || (off !== null && until - off >= offFor)) {
    endJourney(state, journey.still, trips);
  }
}

function continuedUnseen({ place: from, lastMicroseconds }: SegmentState, place: Place): boolean {
  if (!from || lastMicroseconds === null || place.timeMicroseconds - lastMicroseconds < unseen) return false;
  return wasDriven(from, place);
}

function begin(state: SegmentState, reading: TripReading, place: Place | undefined): Journey {
  const journey = beginJourney(reading, place, state.odometer);
  addReading(journey, reading, place);
  return journey;
}

function move(state: SegmentState, reading: TripReading, place: Place | undefined): void {
  const { timeMicroseconds } = reading;
  const lastMicroseconds = state.lastMicroseconds ?? timeMicroseconds;
  let journey = state.journey ?? begin(state, reading, place);
  const isLate = timeMicroseconds - journey.startMicroseconds > ignitionBefore;
  if (journey.movingSinceMicroseconds === null && isLate) journey = begin(state, reading, place);
  if (!drive(journey, reading, place, lastMicroseconds)) {
    journey = begin(state, reading, place);
    drive(journey, reading, place, lastMicroseconds);
  }
  state.journey = journey;
}

function rest(state: SegmentState, reading: TripReading): void {
  const { journey } = state;
  if (!journey) return;
  if (journey.movingSinceMicroseconds === null) {
    const isTooOld = reading.timeMicroseconds - journey.startMicroseconds > ignitionBefore;
    if (isTooOld || state.ignition === false) state.journey = null;
    return;
  }
  journey.still ??= journey.pending ?? endingAt(journey, reading.timeMicroseconds, state.maxEnergyKwh);
  journey.pending = null;
  if (state.ignition === false) journey.offSinceMicroseconds ??= reading.timeMicroseconds;
}

function wait({ journey, maxEnergyKwh }: SegmentState, reading: TripReading): void {
  if (!journey || journey.movingSinceMicroseconds === null || journey.still) return;
  journey.pending ??= endingAt(journey, reading.timeMicroseconds, maxEnergyKwh);
}

function apply(state: SegmentState, verdict: Verdict, reading: TripReading, place: Place | undefined): void {
  if (verdict === 'moving') move(state, reading, place);
  else if (verdict === 'still') rest(state, reading);
  else if (verdict === 'pending') wait(state, reading);
}

function learn(state: SegmentState, { timeMicroseconds, ignition, mileageKm, maxEnergyKwh }: TripReading): void {
  state.ignition = ignition ?? state.ignition;
  if (mileageKm !== null) state.odometer = { timeMicroseconds, km: mileageKm };
  if (maxEnergyKwh !== null && maxEnergyKwh > 0) state.maxEnergyKwh = maxEnergyKwh;
}

function remember(state: SegmentState, reading: TripReading, place: Place | undefined): void {
  state.lastMicroseconds = reading.timeMicroseconds;
  if (place) state.place = joinPlaces(state.place, place);
  keepValues(state.values, reading);
}

/** Adds the next reading of a vehicle, in time order, to the state. @returns the trips that it ends, in time order */
export function takeReading(state: SegmentState, reading: TripReading): Trip[] {
  const trips: Trip[] = [];
  const place = placeOf(reading);
  const last = state.lastMicroseconds;
  if (last !== null && reading.timeMicroseconds - last > maxGapMicroseconds) {
    // A gap that still waits for a position is decided before the next one replaces it.
    inferTrip(state, reading, undefined, trips);
    crossGap(state, reading, last, trips);
  }
  inferTrip(state, reading, place, trips);

  const turnsOn = reading.ignition === true && state.ignition !== true;
  learn(state, reading);
  const isOff = state.ignition === false;
  const continued = !isOff && place !== undefined && continuedUnseen(state, place);
  endIfStopped(state, reading, continued, trips);
  if (state.journey) {
    addReading(state.journey, reading, place);
    if (continued) state.journey.still = null;
    if (!isOff) state.journey.offSinceMicroseconds = null;
  } else if (turnsOn) state.journey = begin(state, reading, place);

  const { verdict, anchor } = judge(state.anchor, reading, place);
  state.anchor = anchor;
  apply(state, isOff ? 'still' : verdict, reading, place);
  remember(state, reading, place);
  return trips;
}

/** A trip that no reading has ended yet. */
export interface OpenTrip {
  trip: Trip;
  /** When it ends without further readings. */
  endsKnownAtMicroseconds: number;
}

/**
 * Returns the open trip after the last reading. Without further readings it ends after 3,600 s, or once the ignition has
 * been off for 60 s.
 */
export function openTrip(state: SegmentState): OpenTrip | undefined {
  const { journey, lastMicroseconds } = state;
  const ending = endingOf(state);
  const trip = journey && ending && tripOf(journey, ending);
  if (!trip || lastMicroseconds === null) return undefined;
  const off = journey.offSinceMicroseconds;
  const endsKnownAtMicroseconds = off === null ? lastMicroseconds + maxGapMicroseconds : off + offFor;
  return { trip, endsKnownAtMicroseconds: Math.max(lastMicroseconds, endsKnownAtMicroseconds) };
}

/**
 * Segments all readings of a vehicle into trips, in time order, the open one included.
 * @param readings in time order with distinct times
 */
export function segmentTrips(readings: Iterable<TripReading>): Trip[] {
  const state = noReadings();
  const trips: Trip[] = [];
  for (const reading of readings) trips.push(...takeReading(state, reading));
  const open = openTrip(state);
  return open ? [...trips, open.trip] : trips;
}
