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

const microsecondLater = (time: string | null) => (time === null ? '0' : String(BigInt(time) + 1n));

it('changes the id with the vehicle, after the least change of its last rental or drive, and with the key, not otherwise', () => {
  fc.assert(
    fc.property(key, fc.nat({ max: 255 }), use, (idKey, flippedBit, one) => {
      const id = publicId(idKey, { ...unused, ...one });
      expect(id).toMatch(/^[\w-]{22}$/);
      const sameUse = {
        ...unused,
        ...one,
        plate: 'moved',
        spot: 'K7QX2M',
        level: 7,
        latitude: 48.8566,
        hidden: 'BOOKED',
      } as const;
      expect(publicId(Buffer.from(idKey), sameUse)).toBe(id);
      const { rentedUntil, drivenUntil } = one;
      const others = [
        { ...one, id: one.id + 1 },
        { ...one, rentedUntil: microsecondLater(rentedUntil) },
        { ...one, drivenUntil: microsecondLater(drivenUntil) },
        ...(rentedUntil === drivenUntil ? [] : [{ ...one, rentedUntil: drivenUntil, drivenUntil: rentedUntil }]),
      ];
      const ids = [id, ...others.map((other) => publicId(idKey, { ...unused, ...other }))];
      expect(new Set(ids).size).toBe(ids.length);
      const otherKey = Buffer.from(idKey);
      otherKey[flippedBit >> 3] = (idKey[flippedBit >> 3] ?? 0) ^ (1 << (flippedBit & 7));
      expect(publicId(otherKey, { ...unused, ...one })).not.toBe(id);
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
