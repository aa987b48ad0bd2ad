import { type Consumption, consume, used } from './consumption.ts';
import { positionOf, type Trip } from './journey.ts';
import { isReachable, joinPlaces, type Place, sameMoment, separationMetres, wasDriven } from './place.ts';
import type { TripReading } from './trip-reading.ts';

/** A time gap whose end is not known yet, because the first readings after it may lack a place. */
export interface Gap {
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
export function inferTrip(
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
