import type { TripReading } from './trip-reading.ts';

/** A monotonic counter that may be reset. */
interface Counter {
  first: number;
  last: number;
  beforeReset: number;
  samples: number;
}

/** A level that falls while driving and rises when it is filled. */
interface Level {
  from: number;
  lowest: number;
  last: number;
  beforeFilling: number;
  filling: boolean;
  samples: number;
}

/** Consumption of a journey so far, by source. */
export interface Consumption {
  fuelUsed: Counter | null;
  fuelLitres: Level | null;
  fuelPercent: Level | null;
  lifetimePower: Counter | null;
  soc: Level | null;
}

/** Consumption of a trip; null where unknown. `fuelPercent` only where litres are unknown. */
export interface Used {
  fuelLitres: number | null;
  fuelPercent: number | null;
  electricKwh: number | null;
}

/** The last value of each source. */
export type Values = Pick<TripReading, (typeof valueNames)[number]>;
const valueNames = ['fuelUsedLitres', 'fuelLitres', 'fuelPercent', 'lifetimePowerKwh', 'socPercent'] as const;

/** A rise from the lowest level by this much is a refill; less is noise, slosh or recuperation. */
const fillingLitres = 5;
const fillingPercent = 8;

export const noConsumption = (): Consumption => ({
  fuelUsed: null,
  fuelLitres: null,
  fuelPercent: null,
  lifetimePower: null,
  soc: null,
});

export const noValues = (): Values => ({
  fuelUsedLitres: null,
  fuelLitres: null,
  fuelPercent: null,
  lifetimePowerKwh: null,
  socPercent: null,
});

/** Stores the values of a reading. */
export function keepValues(values: Values, reading: TripReading): void {
  for (const name of valueNames) values[name] = reading[name] ?? values[name];
}

/** Starts consumption at these values. */
export function begun(values: Values): Consumption {
  const consumption = noConsumption();
  consume(consumption, values);
  return consumption;
}

function count(counter: Counter | null, value: number): Counter {
  if (counter === null) return { first: value, last: value, beforeReset: 0, samples: 1 };
  if (value < counter.last) {
    counter.beforeReset += counter.last - counter.first;
    counter.first = value;
  }
  counter.last = value;
  counter.samples = 2;
  return counter;
}

function follow(level: Level | null, value: number, filledBy: number): Level {
  if (level === null) {
    return { from: value, lowest: value, last: value, beforeFilling: 0, filling: false, samples: 1 };
  }
  const filled = value - level.lowest >= filledBy || (level.filling && value >= level.last);
  if (filled) {
    level.beforeFilling += Math.max(0, level.from - level.lowest);
    level.from = value;
    level.lowest = value;
  }
  level.filling = filled;
  level.lowest = Math.min(level.lowest, value);
  level.last = value;
  level.samples = 2;
  return level;
}

/** Adds the fuel and energy values of a reading. */
export function consume(consumption: Consumption, reading: Values): void {
  const { fuelUsedLitres, fuelLitres, fuelPercent, lifetimePowerKwh, socPercent } = reading;
  if (fuelUsedLitres !== null) consumption.fuelUsed = count(consumption.fuelUsed, fuelUsedLitres);
  if (fuelLitres !== null) consumption.fuelLitres = follow(consumption.fuelLitres, fuelLitres, fillingLitres);
  if (fuelPercent !== null) consumption.fuelPercent = follow(consumption.fuelPercent, fuelPercent, fillingPercent);
  if (lifetimePowerKwh !== null) consumption.lifetimePower = count(consumption.lifetimePower, lifetimePowerKwh);
  if (socPercent !== null) consumption.soc = follow(consumption.soc, socPercent, fillingPercent);
}

/** A single value yields no difference. */
function counted(counter: Counter | null): number | null {
  if (counter === null || counter.samples < 2) return null;
  return counter.beforeReset + counter.last - counter.first;
}

function fallen(level: Level | null): number | null {
  if (level === null || level.samples < 2) return null;
  return level.beforeFilling + Math.max(0, level.from - level.last);
}

/** Returns the consumption (decisions: a counter, else drops of the level; never negative). */
export function used({ fuelUsed, ...levels }: Consumption, maxEnergyKwh: number | null): Used {
  const fuelLitres = counted(fuelUsed) ?? fallen(levels.fuelLitres);
  const soc = maxEnergyKwh === null ? null : fallen(levels.soc);
  return {
    fuelLitres,
    fuelPercent: fuelLitres === null ? fallen(levels.fuelPercent) : null,
    electricKwh: counted(levels.lifetimePower) ?? (soc === null ? null : (soc / 100) * (maxEnergyKwh ?? 0)),
  };
}
