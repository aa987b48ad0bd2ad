import { greatCircleMetres } from '@odograph/contracts/positions';
import { TelemetryReading } from '@odograph/contracts/telemetry';
import fc from 'fast-check';
import Value from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { type Position, RoadNetwork } from './roads.ts';
import { ReadingBuffer } from './simulated-device.ts';
import { createRandom, Drive, type Itinerary, SimulatedVehicle } from './simulated-vehicle.ts';

const side = 12;
const indexes = Array.from({ length: side }, (_unused, index) => index);
/** Streets in a grid of blocks of about 150 m, every second of those to the east a one-way street. */
const town = new RoadNetwork({
  attribution: '',
  nodes: indexes.flatMap((row) => indexes.flatMap((column) => [950_000 + column * 200, 4_710_000 + row * 135])),
  roads: indexes.flatMap((line) => [
    {
      name: `East ${line}`,
      speedKmh: 50,
      ...(line % 2 === 1 && { oneWay: true as const }),
      nodes: indexes.map((column) => line * side + column),
    },
    { name: `North ${line}`, speedKmh: 30, nodes: indexes.map((row) => row * side + line) },
  ]),
});

/** One ride after the other. */
function rides(seed: number): Itinerary {
  const random = createRandom(seed);
  let node = Math.floor(random() * town.nodeCount);
  return (since) => {
    const from = node;
    while (node === from) node = Math.floor(random() * town.nodeCount);
    return { departure: since + 60 + random() * 120, route: town.route(from, node), charges: false };
  };
}
const rider = (seed: number) => new SimulatedVehicle(seed, rides(seed));

const metresBetween = (one: Position, other: Position): number =>
  greatCircleMetres(one.latitude, one.longitude, other.latitude, other.longitude);

describe('a simulated vehicle', () => {
  it('gives consecutive readings of the device protocol', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const vehicle = rider(seed);
        const readings = Array.from({ length: 600 }, (_unused, second) => vehicle.read(1_700_000_000 + second));
        expect(readings.every((reading) => Value.Check(TelemetryReading, reading))).toBe(true);
        expect(readings.map(({ sequence }) => sequence)).toEqual(readings.map((_reading, index) => index + 1));
        for (const [index, reading] of readings.entries()) {
          const before = readings[index - 1];
          if (!before) continue;
          const km = Number(reading.status?.mileage) - Number(before.status?.mileage);
          expect(km).toBeGreaterThanOrEqual(0);
          expect(km).toBeLessThan(0.03);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('drives, waits and parks within an hour', () => {
    const vehicle = rider(7);
    const readings = Array.from({ length: 3600 }, (_unused, second) => vehicle.read(1_700_000_000 + second));
    const seen = new Set(readings.map(({ status }) => `${status?.ignition} ${status?.movement}`));
    expect(seen).toEqual(new Set(['false false', 'true true', 'true false']));
  });

  it('stays in place from IMMOBILIZE to START', () => {
    const vehicle = rider(3);
    vehicle.read(1_700_000_000);
    expect(vehicle.execute('IMMOBILIZE')).toEqual({ ok: true, status: 'LOCKED' });
    const before = vehicle.read(1_700_000_001).location;
    const after = vehicle.read(1_700_003_600).location;
    expect([after?.latitude, after?.longitude]).toEqual([before?.latitude, before?.longitude]);
    vehicle.execute('START');
    expect(vehicle.read(1_700_007_200).location?.latitude).not.toBe(before?.latitude);
  });
});

describe('a drive', () => {
  const anyNode = fc.integer({ min: 0, max: side * side - 1 });

  it('follows the roads from start to end, never faster than they allow, and stops there', () => {
    fc.assert(
      fc.property(anyNode, anyNode, (from, to) => {
        const route = town.route(from, to);
        const drive = new Drive(route);
        const length = route.reduce((sum, { metres }) => sum + metres, 0);
        let driven = 0;
        let before = town.positionOf(from);
        for (let second = 0; !drive.isFinished; second += 1) {
          const { metres } = drive.advance(1);
          driven += metres;
          expect(metres).toBeLessThanOrEqual(50 / 3.6 + 0.01);
          expect(metresBetween(before, drive.position)).toBeLessThanOrEqual(metres + 0.1);
          before = drive.position;
          expect(second).toBeLessThan(3600);
        }
        expect(drive.speedKmh).toBe(0);
        expect(metresBetween(drive.position, town.positionOf(to))).toBeLessThan(0.1);
        expect(driven).toBeGreaterThanOrEqual(length - 0.1);
        expect(driven).toBeLessThan(length + 15);
      }),
      { numRuns: 50 },
    );
  });

  it('slows down for a turn at a junction', () => {
    const corner = town.route(0, side + 1);
    const drive = new Drive(corner);
    const speeds: number[] = [];
    while (!drive.isFinished) {
      drive.advance(1);
      speeds.push(drive.speedKmh);
    }
    const [first = 0] = corner.slice(1).map(({ metres }) => metres);
    expect(Math.max(...speeds.slice(0, 12))).toBeGreaterThan(25);
    expect(first).toBeGreaterThan(100);
    const slowest = Math.min(...speeds.slice(8, -8));
    expect(slowest).toBeLessThan(22);
  });
});

describe('a route', () => {
  it('takes one-way streets in their direction only, and is the fastest', () => {
    const east = town.route(side, side + 3);
    expect(new Set(east.slice(1).map(({ road }) => road))).toEqual(new Set(['East 1']));
    const west = town.route(side + 3, side);
    expect(west.map(({ road }) => road)).not.toContain('East 1');
    expect(west.at(-1)).toMatchObject(town.positionOf(side));
  });
});

describe('a reading buffer', () => {
  it('keeps unacknowledged readings and sends them again, in order', async () => {
    const buffer = new ReadingBuffer();
    for (let timestamp = 1; timestamp <= 250; timestamp += 1) buffer.add({ timestamp });
    const received: number[] = [];
    let uploads = 0;
    const upload = async (readings: { timestamp: number }[]) => {
      uploads += 1;
      if (uploads === 2) throw new Error('no acknowledgement');
      received.push(...readings.map(({ timestamp }) => timestamp));
    };
    await expect(buffer.drain(upload)).rejects.toThrow('no acknowledgement');
    expect(buffer.size).toBe(150);
    await buffer.drain(upload);
    expect(received).toEqual(Array.from({ length: 250 }, (_unused, index) => index + 1));
    expect(buffer.size).toBe(0);
  });
});
