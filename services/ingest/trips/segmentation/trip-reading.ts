/** The fields of a reading that trips are made from; null where absent. */
export interface TripReading {
  timeMicroseconds: number;
  latitude: number | null;
  longitude: number | null;
  ignition: boolean | null;
  movement: boolean | null;
  speedKmh: number | null;
  mileageKm: number | null;
  /** A monotonic counter. */
  fuelUsedLitres: number | null;
  fuelLitres: number | null;
  fuelPercent: number | null;
  /** A monotonic counter. */
  lifetimePowerKwh: number | null;
  socPercent: number | null;
  maxEnergyKwh: number | null;
}

const microsecondsPerSecond = 1_000_000;

/** Converts seconds to microseconds, the unit of all times in segmentation. */
export const seconds = (count: number): number => count * microsecondsPerSecond;
