import { describe, expect, it } from 'vitest';
import { recordedTrack } from './recorded.fixture.ts';
import { segmentTrips } from './segmentation/segment-trips.ts';

describe('a recorded track of positions only', () => {
  it('of a vehicle that stops for two minutes and returns is one trip', async () => {
    const readings = await recordedTrack('around-visnjan-with-car');
    const trips = segmentTrips(readings);
    expect(trips).toHaveLength(1);
    const [trip] = trips;
    const clock = (microseconds = 0) => new Date(microseconds / 1000).toISOString().slice(11, 19);
    // Determined by hand: departure between 06:16:55 and 06:17:05, return at 06:22:41.
    expect([clock(trip?.startMicroseconds), clock(trip?.endMicroseconds)]).toEqual(['06:17:05', '06:22:37']);
    expect(trip?.distanceKm).toBeCloseTo(2.5, 1);
    const meter = 1 / 111_195;
    const { firstPosition: first, lastPosition: last } = trip ?? {};
    expect(Math.abs((first?.latitude ?? 0) - (last?.latitude ?? 0))).toBeLessThan(150 * meter);
  });

  it('is the same trip when every other position is missing', async () => {
    const readings = (await recordedTrack('around-visnjan-with-car')).filter((_reading, index) => index % 2 === 0);
    const [trip, ...others] = segmentTrips(readings);
    expect(others).toEqual([]);
    expect(trip?.distanceKm).toBeGreaterThan(2.3);
  });

  it('of a drive with gaps of up to 15 minutes is one trip, without the walks before and after', async () => {
    const trips = segmentTrips(await recordedTrack('cerknicko-jezero'));
    expect(trips).toHaveLength(1);
    expect(trips[0]?.distanceKm).toBeCloseTo(11.9, 1);
    expect(trips[0]?.inferred).toBe(false);
  });

  it('of a walk is no trip, except for its brisk part', async () => {
    const trips = segmentTrips(await recordedTrack('korita-zbevnica'));
    const km = trips.reduce((sum, { distanceKm }) => sum + distanceKm, 0);
    expect(km).toBeLessThan(1.5);
  });
});
