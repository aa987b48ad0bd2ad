import type { TripReading } from './segmentation/place.ts';

/** Creates a reading with a time only, UNIX seconds. */
export const emptyReading = (time: number): TripReading => ({
  timeMicroseconds: Math.round(time * 1e6),
  latitude: null,
  longitude: null,
  ignition: null,
  movement: null,
  speedKmh: null,
  mileageKm: null,
  fuelUsedLitres: null,
  fuelLitres: null,
  fuelPercent: null,
  lifetimePowerKwh: null,
  socPercent: null,
  maxEnergyKwh: null,
});

const metresPerDegree = 111_195.08;
const home = { latitude: 48.85, longitude: 2.35 };

/** A scripted drive north: each method adds readings and moves the vehicle. */
export class Drive {
  readonly readings: TripReading[] = [];
  time = 1_760_000_000;
  metres = 0;
  /** Fields that override those of every added reading. */
  report: Partial<TripReading> = { ignition: true };
  /** Fields of a reading other than its position. */
  extra: (drive: Drive) => Partial<TripReading> = () => ({});
  readonly everySeconds: number;

  constructor(everySeconds = 10) {
    this.everySeconds = everySeconds;
  }

  read(own: Partial<TripReading> = {}): this {
    const position = { latitude: home.latitude + this.metres / metresPerDegree, longitude: home.longitude };
    this.readings.push({ ...emptyReading(this.time), ...position, ...this.extra(this), ...this.report, ...own });
    return this;
  }

  /** Drives for a duration with a reading at each step, the first one moving. */
  go(forSeconds: number, speedKmh = 36, own: Partial<TripReading> = {}): this {
    for (let left = forSeconds; left > 0; left -= this.everySeconds) {
      this.time += this.everySeconds;
      this.metres += (speedKmh / 3.6) * this.everySeconds;
      this.read({ speedKmh, movement: true, ...own });
    }
    return this;
  }

  stand(forSeconds: number, own: Partial<TripReading> = {}): this {
    for (let left = forSeconds; left > 0; left -= this.everySeconds) {
      this.time += this.everySeconds;
      this.read({ speedKmh: 0, movement: false, ...own });
    }
    return this;
  }

  /** Drives for a duration without readings. */
  dark(forSeconds: number, metres = 0): this {
    this.time += forSeconds - this.everySeconds;
    this.metres += metres;
    return this;
  }

  park(forSeconds = 600): this {
    return this.stand(forSeconds, { ignition: false });
  }
}
