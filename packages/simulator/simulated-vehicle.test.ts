import { TelemetryReading } from '@odograph/contracts/telemetry';
import fc from 'fast-check';
import Value from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { ReadingBuffer } from './simulated-device.ts';
import { SimulatedVehicle, travel } from './simulated-vehicle.ts';

const paris = { latitude: 48.8566, longitude: 2.3522 };

describe('a simulated vehicle', () => {
  it('gives consecutive readings of the device protocol', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const vehicle = new SimulatedVehicle(seed, paris);
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
    const vehicle = new SimulatedVehicle(7, paris);
    const readings = Array.from({ length: 3600 }, (_unused, second) => vehicle.read(1_700_000_000 + second));
    const seen = new Set(readings.map(({ status }) => `${status?.ignition} ${status?.movement}`));
    expect(seen).toEqual(new Set(['false false', 'true true', 'true false']));
  });

  it('stays in place from IMMOBILIZE to START', () => {
    const vehicle = new SimulatedVehicle(3, paris);
    vehicle.read(1_700_000_000);
    expect(vehicle.execute('IMMOBILIZE')).toEqual({ ok: true, status: 'LOCKED' });
    const before = vehicle.read(1_700_000_001).location;
    const after = vehicle.read(1_700_003_600).location;
    expect([after?.latitude, after?.longitude]).toEqual([before?.latitude, before?.longitude]);
    vehicle.execute('START');
    expect(vehicle.read(1_700_007_200).location?.latitude).not.toBe(before?.latitude);
  });
});

describe('travel', () => {
  it('returns to its start after the same distance both ways along a meridian', () => {
    const north = travel(paris, 0, 10_000);
    expect(north.latitude).toBeCloseTo(48.94653, 4);
    expect(travel(north, 180, 10_000).latitude).toBeCloseTo(paris.latitude, 9);
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
