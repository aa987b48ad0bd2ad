import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomReadings } from '../random-drive.fixture.ts';
import { noReadings, openTrip, segmentTrips, takeReading } from './segment-trips.ts';

describe('segmentation', () => {
  it('can be interrupted after any reading, stored, and resumed', () => {
    fc.assert(
      fc.property(randomReadings, fc.integer({ min: 1, max: 50 }), (readings, every) => {
        let state = noReadings();
        const trips = readings.flatMap((reading, index) => {
          if (index % every === 0) state = JSON.parse(JSON.stringify(state));
          return takeReading(state, reading);
        });
        const open = openTrip(state);
        expect(open ? [...trips, open.trip] : trips).toEqual(segmentTrips(readings));
      }),
      { numRuns: 300 },
    );
  });

  it('returns trips in time order, without overlaps, that start and end at readings', () => {
    fc.assert(
      fc.property(randomReadings, (readings) => {
        const times = new Set(readings.map(({ timeMicroseconds }) => timeMicroseconds));
        let until = 0;
        for (const trip of segmentTrips(readings)) {
          expect(trip.startMicroseconds).toBeGreaterThanOrEqual(until);
          expect(trip.endMicroseconds).toBeGreaterThan(trip.startMicroseconds);
          expect(times.has(trip.startMicroseconds) && times.has(trip.endMicroseconds)).toBe(true);
          expect(trip.distanceKm).toBeGreaterThanOrEqual(0.2);
          for (const used of [trip.fuelLitres, trip.electricKwh]) expect(used ?? 0).toBeGreaterThanOrEqual(0);
          until = trip.endMicroseconds;
        }
      }),
      { numRuns: 300 },
    );
  });
});
