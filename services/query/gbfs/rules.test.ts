import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SystemVehicle } from './queries.ts';
import { publicId, writeMultiPolygon } from './rules.ts';

const moment = fc.option(fc.bigInt({ min: 0n, max: 4_000_000_000_000_000n }).map(String));
const use = fc.record({
  id: fc.integer({ min: 1_000_000_001, max: 2_147_483_647 }),
  rentedUntil: moment,
  drivenUntil: moment,
});
const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
const unused: Omit<SystemVehicle, 'id' | 'rentedUntil' | 'drivenUntil'> = {
  ...{ plate: 'AB-123-CD', hidden: null, brand: '', model: '', kind: '', energy: '', latitude: 0, longitude: 0 },
  ...{ level: null, rangeKm: null, contactAt: null, nextBookingAt: null, spot: null },
};

it('gives different ids to different vehicles, after different uses and under different keys, and the same one otherwise', () => {
  fc.assert(
    fc.property(key, key, use, use, (idKey, otherKey, one, other) => {
      const id = publicId(idKey, { ...unused, ...one });
      expect(id).toMatch(/^[\w-]{22}$/);
      expect(publicId(idKey, { ...unused, ...one, plate: 'moved', spot: 'K7QX2M', level: 7 })).toBe(id);
      expect(publicId(idKey, { ...unused, ...other }) === id).toBe(JSON.stringify(one) === JSON.stringify(other));
      expect(publicId(otherKey, { ...unused, ...one }) === id).toBe(idKey.equals(otherKey));
    }),
  );
});

it('writes geofences as closed rings that go counter-clockwise', () => {
  const circles = fc.tuple(
    fc.double({ min: -170, max: 170, noNaN: true }),
    fc.double({ min: -80, max: 80, noNaN: true }),
  );
  fc.assert(
    fc.property(circles, fc.integer({ min: 10, max: 100_000 }), (coordinates, radiusMetres) => {
      const shape = writeMultiPolygon({ type: 'Point', coordinates, radiusMetres });
      const [ring = []] = shape.coordinates[0] ?? [];
      expect(ring.at(-1)).toEqual(ring[0]);
      const doubled = ring.slice(1).reduce((sum, [x, y], index) => {
        const [previousX, previousY] = ring[index] ?? [0, 0];
        return sum + previousX * y - x * previousY;
      }, 0);
      expect(doubled).toBeGreaterThan(0);
    }),
  );
});
