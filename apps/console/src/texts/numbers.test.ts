import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeLanguages } from './languages.ts';
import { readNumber, writeNumber } from './numbers.ts';

describe('a number in an input', () => {
  it.each(['en-GB', 'en-US', 'de', 'fr', 'es', 'it', 'pl', 'pt'])('has a decimal point or comma in %s', (locale) => {
    const read = (text: string) => readNumber(text, locale);
    expect(['12,5', '12.5', ' -0.35 ', ',5', '7', '2.', '1e3'].map(read)).toEqual([12.5, 12.5, -0.35, 0.5, 7, 2, 1000]);
    expect(['', '-', 'x', '1,000.5', '1.000.000', '1 000', '12,5 km', 'Infinity', '1e999'].map(read)).toEqual(
      Array.from({ length: 9 }, () => undefined),
    );
  });

  it('is never read as a thousandth of what it may mean', () => {
    expect([readNumber('1,500', 'en-GB'), readNumber('1.500', 'de')]).toEqual([undefined, undefined]);
    expect([readNumber('1.500', 'en-GB'), readNumber('1,500', 'de')]).toEqual([1.5, 1.5]);
    const latitude = { minimum: -90, maximum: 90 };
    expect([readNumber('48.137', 'de', latitude), readNumber('-0.137', 'de', latitude)]).toEqual([48.137, -0.137]);
  });

  it('is read as it was written', () => {
    const numbers = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 });
    fc.assert(
      fc.property(numbers, fc.constantFrom(...completeLanguages), (number, language) => {
        expect(readNumber(writeNumber(number, language), language)).toBe(number + 0);
      }),
    );
  });
});
