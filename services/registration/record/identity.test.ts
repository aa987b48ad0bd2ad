import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizePlate } from './identity.ts';

const letter = fc.constantFrom(...'ABCDEFGHJKLMNPQRSTVWXYZ');
const pair = fc
  .tuple(letter, letter)
  .map((both) => both.join(''))
  .filter((both) => both !== 'SS');
const present = fc.tuple(pair, fc.integer({ min: 1, max: 999 }), pair).map(([first, number, last]) => {
  return [first, String(number).padStart(3, '0'), last];
});
const department = fc.oneof(
  fc.integer({ min: 1, max: 95 }).map((number) => String(number).padStart(2, '0')),
  fc.constantFrom('2A', '2B', '971', '974', '976', '988'),
);
const series = fc.array(letter, { minLength: 1, maxLength: 3 }).map((letters) => letters.join(''));
const former = fc
  .tuple(fc.integer({ min: 1, max: 9999 }), series, department)
  .map(([number, letters, place]) => [String(number), letters, place]);
const separators = fc.tuple(fc.constantFrom('', ' ', '-', '.', ' - ', '\u00a0'), fc.constantFrom('', ' ', '-', '·'));

describe('normalizePlate', () => {
  it('parses a plate with any separators and in any case', () => {
    const plates = fc.oneof(
      present.map((groups) => ({ groups, display: groups.join('-') })),
      former.map((groups) => ({ groups, display: groups.join(' ') })),
    );
    fc.assert(
      fc.property(plates, separators, fc.boolean(), ({ groups, display }, [first, second], lower) => {
        const written = `${groups[0]}${first}${groups[1]}${second}${groups[2]}`;
        const plate = normalizePlate(lower ? written.toLowerCase() : written);
        expect(plate).toEqual({ key: groups.join(''), display });
        expect(normalizePlate(plate?.key ?? '')).toEqual(plate);
        expect(normalizePlate(plate?.display ?? '')).toEqual(plate);
      }),
    );
  });

  it('parses common notations', () => {
    for (const text of ['AB-123-CD', 'ab123cd', 'AB 123 CD', ' Ab-123 cd ']) {
      expect(normalizePlate(text)).toEqual({ key: 'AB123CD', display: 'AB-123-CD' });
    }
    expect(normalizePlate('1234 AB 75')?.display).toBe('1234 AB 75');
    expect(normalizePlate('123abc2a')?.display).toBe('123 ABC 2A');
    expect(normalizePlate('0123-AB-75')).toEqual(normalizePlate('123 AB 75'));
  });

  it('rejects text that is not a French plate', () => {
    const letters = ['AI-123-CD', 'AO-123-CD', 'AB-123-CU', 'SS-123-AB', 'AB-123-SS', '12 AI 75', '12 AO 75'];
    const numbers = [
      'AB-000-CD',
      'AB-12-CD',
      'AB-1234-CD',
      '0 AB 75',
      '12345 AB 75',
      '1234 AB 00',
      '1234 AB 96',
      '1234 AB 99',
    ];
    const others = [
      '',
      '-',
      'ABC',
      '1234 AB',
      '12 ABCD 75',
      'AB-123-CD1',
      'ßß-123-AB',
      'AB/123/CD',
      'AB-１２３-CD',
      'A\0-123-CD',
    ];
    for (const text of [...letters, ...numbers, ...others])
      expect([text, normalizePlate(text)]).toEqual([text, undefined]);
  });

  it('never throws, and parses its own display format', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        const plate = normalizePlate(text);
        expect(plate && normalizePlate(plate.display)).toEqual(plate);
      }),
    );
  });
});
