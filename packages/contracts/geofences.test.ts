import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GeofencePoint, type GeofenceShape, locateBy } from './geofences.ts';
import { greatCircleMetres } from './positions.ts';

const normal = (longitude: number) => ((((longitude + 180) % 360) + 360) % 360) - 180;
/** A rectangle around a centre, given as GeoJSON. */
function rectangle(longitude: number, latitude: number, halfWidth: number, halfHeight: number): GeofenceShape {
  const corner = (x: number, y: number): GeofencePoint => [
    normal(longitude + x * halfWidth),
    latitude + y * halfHeight,
  ];
  return {
    type: 'Polygon',
    coordinates: [[corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1), corner(-1, -1)]],
  };
}

describe('a position', () => {
  it('is inside or outside a polygon wherever it lies on the earth, also across the 180th meridian', () => {
    const property = fc.property(
      fc.constantFrom(-179.9, -90, 0, 90, 179.9, 180),
      fc.double({ min: -60, max: 60, noNaN: true }),
      fc.double({ min: -2, max: 2, noNaN: true }),
      fc.double({ min: -2, max: 2, noNaN: true }),
      (longitude, latitude, x, y) => {
        fc.pre(Math.abs(Math.abs(x) - 1) > 0.01 && Math.abs(Math.abs(y) - 1) > 0.01);
        const zone = locateBy(rectangle(longitude, latitude, 0.5, 0.25), 0)(
          latitude + y * 0.25,
          normal(longitude + x * 0.5),
        );
        expect(zone).toBe(Math.abs(x) < 1 && Math.abs(y) < 1 ? 'inside' : 'outside');
      },
    );
    fc.assert(property, { numRuns: 1000 });
  });

  it('is in the margin up to its width beyond the edge of a polygon, in metres', () => {
    const metres = (north: number, east: number) =>
      [60 + north / 111_195, 10 + east / (111_195 * Math.cos((60 * Math.PI) / 180))] as const;
    const locate = locateBy(rectangle(10, 60, 0.1, 0.1), 50);
    const [northEdge, eastEdge] = [0.1 * 111_195, 0.1 * 111_195 * 0.5];
    expect(locate(...metres(northEdge - 1, 0))).toBe('inside');
    expect(locate(...metres(northEdge + 45, 0))).toBe('margin');
    expect(locate(...metres(northEdge + 55, 0))).toBe('outside');
    expect(locate(...metres(0, eastEdge + 45))).toBe('margin');
    expect(locate(...metres(0, eastEdge + 55))).toBe('outside');
  });

  it('is inside a circle across the 180th meridian', () => {
    const locate = locateBy({ type: 'Point', coordinates: [179.999, 0], radiusMetres: 500 }, 50);
    expect([locate(0, -179.999), locate(0, -179.9965), locate(0, -179.99)]).toEqual(['inside', 'margin', 'outside']);
  });

  it('is outside the notch of a polygon that is not convex', () => {
    const ring: GeofencePoint[] = [
      [0, 0],
      [4, 0],
      [4, 4],
      [2, 1],
      [0, 4],
      [0, 0],
    ];
    const locate = locateBy({ type: 'Polygon', coordinates: [ring] }, 0);
    expect([locate(0.5, 2), locate(3, 2), locate(3, 0.2)]).toEqual(['inside', 'outside', 'inside']);
  });

  it('is inside a corridor within half its width of the line, within 0.5 % of the great-circle distance', () => {
    const degrees = fc.double({ min: -0.2, max: 0.2, noNaN: true });
    const property = fc.property(
      fc.constantFrom(-179.95, -90, 0, 179.95),
      fc.double({ min: -70, max: 70, noNaN: true }),
      fc.array(fc.tuple(degrees, degrees), { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 20, max: 20_000 }),
      fc.tuple(degrees, degrees),
      (longitude, latitude, steps, widthMetres, [east, north]) => {
        const line = steps.map(([x, y]) => [longitude + x, latitude + y] as const);
        const [x, y] = [longitude + east, latitude + north];
        let metres = Number.POSITIVE_INFINITY;
        for (const [index, [toX, toY]] of line.entries()) {
          const [fromX, fromY] = line[index - 1] ?? [toX, toY];
          for (let part = 0; part <= 2000; part += 1) {
            const [atX, atY] = [fromX + ((toX - fromX) * part) / 2000, fromY + ((toY - fromY) * part) / 2000];
            metres = Math.min(metres, greatCircleMetres(atY, atX, y, x));
          }
        }
        // Between two samples, which are up to 40 m apart, the line may be 20 m nearer.
        fc.pre(Math.abs(metres - widthMetres / 2) > 0.005 * metres + 20);
        const coordinates = line.map(([x1, y1]): GeofencePoint => [normal(x1), y1]);
        const zone = locateBy({ type: 'LineString', coordinates, widthMetres }, 0)(y, normal(x));
        expect([metres, zone]).toEqual([metres, metres <= widthMetres / 2 ? 'inside' : 'outside']);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('is in the margin of a corridor up to one margin width beyond its edge, also around its ends', () => {
    const locate = locateBy(
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [0.1, 0],
        ],
        widthMetres: 200,
      },
      50,
    );
    const east = (metres: number) => 0.1 + metres / 111_195;
    expect([locate(0, east(99)), locate(0, east(149)), locate(0, east(151))]).toEqual(['inside', 'margin', 'outside']);
    expect([locate(149 / 111_195, 0.05), locate(151 / 111_195, 0.05)]).toEqual(['margin', 'outside']);
  });
});
