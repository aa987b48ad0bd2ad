import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseLocale } from './languages.ts';
import { decimalsOfStep, fromInput, toInput, toInputLimits } from './units.ts';

/** Radii as a person types them, with at most three decimals. */
const typed = fc.integer({ min: 33_000, max: 1_640_000_000 }).map((thousandths) => thousandths / 1000);
const radiusLimits = { minimum: 10, maximum: 500_000 };

describe('a radius in feet', () => {
  it('is shown again as it was typed', () => {
    fc.assert(
      fc.property(typed, (feet) => {
        expect(toInput(fromInput(feet, 'm', 'imperial'), 'm', 'imperial')).toBe(feet);
      }),
    );
  });

  it('that the input accepts is within the limits of the platform', () => {
    const { minimum = 0, maximum = 0 } = toInputLimits(radiusLimits, 'm', 'imperial');
    expect(fromInput(minimum, 'm', 'imperial')).toBeGreaterThanOrEqual(radiusLimits.minimum);
    expect(fromInput(maximum, 'm', 'imperial')).toBeLessThanOrEqual(radiusLimits.maximum);
  });
});

it.each(['km', 'km/h', 'm', '°C', 'V'])('a metric value in %s stays as it is', (unit) => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(fromInput(toInput(value, unit, 'metric'), unit, 'metric') === value).toBe(true);
    }),
  );
});

it.each([
  [20, 0],
  [0.25, 2],
  [0.1 + 0.2, 1],
  [2.5e-7, 8],
  [Number.NaN, 0],
])('labels %d apart differ in %d decimals', (step, decimals) => {
  expect(decimalsOfStep(step)).toBe(decimals);
});

it('the region of numbers and dates is that of the browser in the language of the page', () => {
  expect(chooseLocale('en', ['fr-FR', 'en-US', 'en-GB'])).toBe('en-US');
  expect(chooseLocale('fr', ['en-US', 'fr-CA'])).toBe('fr-CA');
  expect(chooseLocale('en', ['fr-FR'])).toBe('en-GB');
});
