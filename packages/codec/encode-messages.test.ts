import { type SourceFormatName, sourceFormatNames } from '@odograph/contracts/sources';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeMessage } from './encode-messages.ts';
import { receive } from './sources.fixture.ts';

const device = '350000000000001';

/** The reading of a body; the order of `can` says nothing. */
function decode(format: SourceFormatName, body: unknown): TelemetryReading {
  const { devices, readings, faults } = receive(format, body, format === 'owntracks' ? { device } : {});
  expect([devices, faults]).toEqual([[device], []]);
  const [reading] = readings;
  if (!reading) throw new Error('no reading');
  const can = reading.can?.toSorted((one, other) => (one.key < other.key ? -1 : 1)) ?? [];
  return { ...reading, can };
}

/** Bodies with what each system sends besides a position. */
const samples: Readonly<Record<SourceFormatName, unknown>> = {
  traccar: {
    device: { uniqueId: device },
    position: {
      ...{ protocol: 'teltonika', fixTime: '2025-11-21T08:00:00.000+00:00', valid: false, outdated: false, course: 90 },
      ...{ latitude: 48.8566, longitude: 2.3522, altitude: 35, speed: 28.0778, accuracy: 5 },
      attributes: { ignition: true, odometer: 12_345_600, sat: 9, lock: true, alarm: 'tow', hours: 60_000 },
    },
  },
  flespi: {
    ...{ ident: device, timestamp: 1_763_712_000.25, 'position.latitude': 48.8566, 'position.longitude': 2.3522 },
    ...{ 'door.open.status': false, 'can.vehicle.mileage': 12.5, 'custom.list': [1, 2], 'battery.voltage': 4.1 },
  },
  tesla: {
    ...{ Vin: device, CreatedAt: '2025-11-21T08:00:00Z', IsResend: true, Odometer: 1000.5, Locked: true },
    ...{ Location: { latitude: 48.8566, longitude: 2.3522 }, DoorState: { DriverFront: false, TrunkRear: false } },
    ...{ DetailedChargeState: 'DetailedChargeStateCharging', FdWindow: 'WindowStateOpened', Gear: 'ShiftStateP' },
  },
  owntracks: { _type: 'location', tst: 1_763_712_000, lat: 48.8566, lon: 2.3522, vel: 52, batt: 80, tid: 'ab' },
  osmand: { id: device, timestamp: '1763712000', lat: '48.8566', lon: '2.3522', speed: '28.0778', batt: '80' },
};

it.each(sourceFormatNames)('decodes what it encodes of a message of %s', (format) => {
  const reading = decode(format, samples[format]);
  expect(decode(format, encodeMessage(format, device, reading))).toEqual(reading);
});

it('encodes the words true and false as booleans, not as text', () => {
  const message = encodeMessage('traccar', device, decode('traccar', samples.traccar));
  expect(message).toMatchObject({ position: { attributes: { ignition: true, lock: true } } });
});

const tenths = (min: number, max: number) => fc.integer({ min: min * 10, max: max * 10 }).map((value) => value / 10);
const reading: fc.Arbitrary<TelemetryReading> = fc
  .record({
    milliseconds: fc.integer({ min: 1_000_000_000_000, max: 1_900_000_000_000 }),
    latitude: tenths(1, 90),
    longitude: tenths(-180, 180),
    speed: fc.option(tenths(0, 250), { nil: undefined }),
    angle: fc.option(tenths(0, 360), { nil: undefined }),
    ignition: fc.boolean(),
    mileage: tenths(0, 1_000_000),
    soc: tenths(0, 100),
    can: fc.dictionary(fc.stringMatching(/^x[a-z]{1,6}$/), fc.stringMatching(/^[A-Za-z0-9 {}[\]":,-]{0,12}$/)),
  })
  .map(({ milliseconds, latitude, longitude, speed, angle, ignition, mileage, soc, can }) => ({
    timestamp: milliseconds / 1000,
    location: { latitude, longitude, ...(speed !== undefined && { speed }), ...(angle !== undefined && { angle }) },
    status: { ignition, mileage },
    electric: { soc },
    fleet: { lock: 'LOCKED' as const },
    can: Object.entries(can).map(([key, value]) => ({ key, value })),
  }));

it.each(sourceFormatNames)('encodes in the format of %s what it decodes', (format) => {
  fc.assert(
    fc.property(reading, (original) => {
      const once = decode(format, encodeMessage(format, device, original));
      expect(once.timestamp).toBe(original.timestamp);
      expect([once.location?.latitude, once.location?.longitude]).toEqual([
        original.location?.latitude,
        original.location?.longitude,
      ]);
      expect(decode(format, encodeMessage(format, device, once))).toEqual(once);
    }),
  );
});
