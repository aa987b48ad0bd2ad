import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GeofencePoint, type GeofenceShape, locateBy } from './geofences.ts';

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
});
