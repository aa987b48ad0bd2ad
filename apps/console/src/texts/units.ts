// Imports nothing that needs a browser, so that tests can run it.

export type UnitSystem = 'metric' | 'imperial';

interface Imperial {
  readonly unit: string;
  /** One imperial unit, in the metric unit. */
  readonly size: number;
  /** The imperial value of a metric 0. */
  readonly offset?: number;
}

/** The units that the imperial system replaces. */
const imperialOf: Readonly<Record<string, Imperial>> = {
  km: { unit: 'mi', size: 1.609_344 },
  'km/h': { unit: 'mph', size: 1.609_344 },
  m: { unit: 'ft', size: 0.3048 },
  '°C': { unit: '°F', size: 5 / 9, offset: 32 },
};

const conversion = (unit: string, system: UnitSystem): Imperial =>
  (system === 'imperial' && imperialOf[unit]) || { unit, size: 1 };

/** Returns the unit in which a value of a metric unit is shown. */
export const shownUnit = (unit: string, system: UnitSystem): string => conversion(unit, system).unit;

/** Converts a value of a metric unit for display. */
export function toShown(value: number, unit: string, system: UnitSystem): number {
  const { size, offset = 0 } = conversion(unit, system);
  return value / size + offset;
}

const inputStep = 1000;

/** Converts a value for an input, rounded to three decimals: more would be conversion noise. */
export function toInput(value: number, unit: string, system: UnitSystem): number {
  const shown = toShown(value, unit, system);
  return shownUnit(unit, system) === unit ? shown : Math.round(shown * inputStep) / inputStep;
}

/** Converts the limits of a metric unit for an input, rounded inwards. */
export function toInputLimits(
  { minimum, maximum }: { readonly minimum?: number | undefined; readonly maximum?: number | undefined },
  unit: string,
  system: UnitSystem,
) {
  if (shownUnit(unit, system) === unit) return { minimum, maximum };
  return {
    minimum: minimum === undefined ? undefined : Math.ceil(toShown(minimum, unit, system) * inputStep) / inputStep,
    maximum: maximum === undefined ? undefined : Math.floor(toShown(maximum, unit, system) * inputStep) / inputStep,
  };
}

/** Converts a typed value to the metric unit in which it is stored. */
export function fromInput(typed: number, unit: string, system: UnitSystem): number {
  const { size, offset = 0 } = conversion(unit, system);
  return (typed - offset) * size;
}

/** The decimals that labels one step apart need in order to differ: 0.25 needs two. */
export function decimalsOfStep(step: number): number {
  if (!(step > 0)) return 0;
  // Rounded, because a step of 0.3 can be 0.30000000000000004.
  const digits = /(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(Number(step.toPrecision(10))));
  return Math.min(10, Math.max(0, (digits?.[1]?.length ?? 0) - Number(digits?.[2] ?? 0)));
}
