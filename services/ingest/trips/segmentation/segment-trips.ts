import { type Trip, tripOf } from './journey.ts';
import { endingOf, longestGap, noReadings, offFor, type SegmentState, takeReading } from './segment.ts';
import type { TripReading } from './trip-reading.ts';

/** A trip that no later reading has ended yet. */
export interface OpenTrip {
  trip: Trip;
  /** When it counts as over if the vehicle says nothing more. */
  endsKnownAtMicroseconds: number;
}

/**
 * The trip that is under way after the last reading, as silence would end it: after 3,600 s, or as soon as the ignition
 * has been off for 60 s.
 */
export function openTrip(state: SegmentState): OpenTrip | undefined {
  const { journey, lastMicroseconds } = state;
  const ending = endingOf(state);
  const trip = journey && ending && tripOf(journey, ending);
  if (!trip || lastMicroseconds === null) return undefined;
  const off = journey.offSinceMicroseconds;
  const endsKnownAtMicroseconds = off === null ? lastMicroseconds + longestGap : off + offFor;
  return { trip, endsKnownAtMicroseconds: Math.max(lastMicroseconds, endsKnownAtMicroseconds) };
}

/**
 * The trips of a vehicle, in the order of their start, with one that is under way at the end.
 * @param readings all readings of the vehicle, in the order of time, each time once
 */
export function segmentTrips(readings: Iterable<TripReading>): Trip[] {
  const state = noReadings();
  const trips: Trip[] = [];
  for (const reading of readings) trips.push(...takeReading(state, reading));
  const open = openTrip(state);
  return open ? [...trips, open.trip] : trips;
}
