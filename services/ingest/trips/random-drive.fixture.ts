import fc from 'fast-check';
import { Drive } from './drive.fixture.ts';
import type { TripReading } from './segmentation/place.ts';

const step = fc.record({
  kind: fc.constantFrom('go', 'go', 'go', 'stand', 'park', 'dark', 'tow'),
  seconds: fc.constantFrom(10, 40, 90, 250, 330, 700),
  speedKmh: fc.constantFrom(4, 20, 50, 120),
  /** Fields missing from the readings. */
  hidden: fc.subarray(['latitude', 'movement', 'speedKmh', 'ignition', 'mileageKm'] as const, { maxLength: 3 }),
  /** The odometer restarts, or the vehicle drives without readings. */
  changes: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function take(drive: Drive, { kind, seconds, speedKmh, hidden, changes }: Step): void {
  const values: Partial<TripReading> = Object.fromEntries(hidden.map((name) => [name, null]));
  const duration = Math.min(seconds, drive.everySeconds * 60);
  const ways: Record<typeof kind, () => unknown> = {
    go: () => drive.go(duration, speedKmh, values),
    stand: () => drive.stand(duration, values),
    park: () => drive.stand(duration, { ignition: false, ...values }),
    tow: () => drive.go(duration, speedKmh, { ignition: false }),
    dark: () => drive.dark(seconds * 8, changes ? seconds * 80 : 0),
  };
  ways[kind]();
}

/** The readings of a vehicle that drives, stands and is towed, with varying fields. */
export const randomReadings: fc.Arbitrary<TripReading[]> = fc
  .tuple(fc.array(step, { minLength: 1, maxLength: 25 }), fc.constantFrom(1, 10, 30))
  .map(([steps, everySeconds]) => {
    const drive = new Drive(everySeconds);
    let lostKm = 0;
    drive.extra = ({ metres }) => ({
      mileageKm: 100 + metres / 1000 - lostKm,
      fuelLitres: 40 - (metres % 30_000) / 10_000,
      socPercent: 90 - metres / 10_000,
      maxEnergyKwh: 50,
    });
    for (const one of steps) {
      if (one.changes) lostKm = drive.metres / 1000;
      take(drive, one);
    }
    return drive.readings;
  });
