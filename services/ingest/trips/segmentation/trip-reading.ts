/** What of a reading counts for trips; null is what it does not tell. */
export interface TripReading {
  timeMicroseconds: number;
  latitude: number | null;
  longitude: number | null;
  ignition: boolean | null;
  movement: boolean | null;
  speedKmh: number | null;
  mileageKm: number | null;
  /** A counter of litres that only grows. */
  fuelUsedLitres: number | null;
  fuelLitres: number | null;
  fuelPercent: number | null;
  /** A counter of kWh that only grows. */
  lifetimePowerKwh: number | null;
  socPercent: number | null;
  maxEnergyKwh: number | null;
}

const microsecondsPerSecond = 1_000_000;

/** Seconds as microseconds, the unit of all times here. */
export const seconds = (count: number): number => count * microsecondsPerSecond;
