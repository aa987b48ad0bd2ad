import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Area, Cells, contains, type Point, parseArea } from './area.ts';

const point: fc.Arbitrary<Point> = fc.record({
  latitude: fc.double({ min: -90, max: 90, noNaN: true }),
  longitude: fc.double({ min: -180, max: 180, noNaN: true }),
});
const area: fc.Arbitrary<Area> = fc.record({ one: point, other: point }).map(({ one, other }) => ({
  west: one.longitude,
  east: other.longitude,
  south: Math.min(one.latitude, other.latitude),
  north: Math.max(one.latitude, other.latitude),
}));

describe('an area', () => {
  it('has the same border on both longitudes of the 180th meridian', () => {
    for (const longitude of [180, -180]) {
      expect(contains(parseArea('170,-10,180,10'), { latitude: 0, longitude })).toBe(true);
      expect(contains(parseArea('-180,-10,-170,10'), { latitude: 0, longitude })).toBe(true);
      expect(contains(parseArea('0,-10,10,10'), { latitude: 0, longitude })).toBe(false);
    }
  });

  it('spans the world when its longitudes are 360 degrees apart or more', () => {
    expect(parseArea('-200,-10,200,10')).toEqual({ west: -180, south: -10, east: 180, north: 10 });
    expect(parseArea('190,-10,200,10')).toEqual({ west: -170, south: -10, east: -160, north: 10 });
  });
});

describe('cells', () => {
  it('are at most some 64 across an area at any zoom, and each has its centre within', () => {
    fc.assert(
      fc.property(
        fc.array(point, { minLength: 1 }),
        area,
        fc.option(fc.integer({ min: 0, max: 24 })),
        (points, shown, zoom) => {
          const cells = new Cells(shown, zoom ?? undefined);
          for (const one of points) {
            const cell = cells.cellOf(one);
            const centre = cells.centreOf(cell);
            // Rounded to 0.1 m, a centre at the edge of the projection may fall beyond it.
            expect(Math.abs(centre.latitude) >= 85 || cells.cellOf(centre) === cell).toBe(true);
          }
        },
      ),
    );
    const world = new Cells(parseArea('-180,-90,180,90'), 24);
    const columns = new Set(
      Array.from({ length: 3600 }, (_, n) => world.cellOf({ latitude: 0, longitude: -180 + n / 10 })),
    );
    expect(columns.size).toBe(64);
  });
});
