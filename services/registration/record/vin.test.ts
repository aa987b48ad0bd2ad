import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { computeCheckDigit, decodeVin, normalizeVin } from './vin.ts';

const alphabet = 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789';
const vins = fc
  .array(fc.constantFrom(...alphabet), { minLength: 17, maxLength: 17 })
  .map((letters) => letters.join(''));

describe('normalizeVin', () => {
  it('parses a VIN in any case and with any separators', () => {
    fc.assert(
      fc.property(vins, fc.infiniteStream(fc.constantFrom('', '', '', ' ', '-', '.')), (vin, separators) => {
        const written = vin.replace(/./g, (letter) => letter.toLowerCase() + String(separators.next().value));
        expect(normalizeVin(written)).toBe(vin);
      }),
    );
  });

  it('rejects I, O, Q, non-ASCII letters and any other length', () => {
    const vin = '1M8GDM9AXKP042788';
    expect(normalizeVin(vin)).toBe(vin);
    for (const letter of ['I', 'O', 'Q', 'i', 'ı', 'ſ', '!', '\0', 'é', '０']) {
      expect(normalizeVin(letter + vin.slice(1))).toBeUndefined();
    }
    for (const text of ['', vin.slice(1), `${vin}1`]) expect(normalizeVin(text)).toBeUndefined();
  });
});

describe('the check digit', () => {
  it('matches published examples', () => {
    for (const vin of ['1M8GDM9AXKP042788', '11111111111111111', '5GZCZ43D13S812715', 'JH4TB2H26CC000000']) {
      expect(decodeVin(vin, 2026).checkDigit).toBe('valid');
    }
    expect(decodeVin('1M8GDM9A1KP042788', 2026).checkDigit).toBe('invalid');
    expect(decodeVin('VF1AG000A64123456', 2026).checkDigit).toBe('absent');
  });

  it('changes with every single digit outside position 9', () => {
    fc.assert(
      fc.property(vins, fc.nat(16), fc.integer({ min: 1, max: 9 }), (vin, position, shift) => {
        fc.pre(position !== 8 && /\d/.test(vin.charAt(position)));
        const digit = String((Number(vin.charAt(position)) + shift) % 10);
        const wrong = vin.slice(0, position) + digit + vin.slice(position + 1);
        expect(computeCheckDigit(wrong)).not.toBe(computeCheckDigit(vin));
      }),
    );
  });
});

describe('decodeVin', () => {
  it('reports make and check digit of a European VIN without requiring a check digit', () => {
    expect(decodeVin('VF1AG000A64123456', 2026)).toMatchObject({
      wmi: 'VF1',
      make: 'Renault',
      checkDigit: 'absent',
      checkDigitRequired: false,
      modelYear: null,
    });
    expect(decodeVin('VF7SXHMZ6JT512345', 2026)).toMatchObject({ make: 'Citroën', checkDigitRequired: false });
  });

  it('derives the model year of North American cars from positions 7 and 10', () => {
    expect(decodeVin('1HGCM82633A004352', 2026)).toMatchObject({ make: 'Honda', modelYear: 2003 });
    expect(decodeVin('5YJ3E1EA7KF317000', 2026)).toMatchObject({ make: 'Tesla', modelYear: 2019 });
    // A letter in position 7 would make it 2033.
    expect(decodeVin('1HGCM8A633A004352', 2026)).toMatchObject({ modelYear: null, modelYearCandidates: [2003] });
    expect(decodeVin('WBA3A5C50CF256651', 2026)).toMatchObject({ modelYear: null, modelYearCandidates: [1982, 2012] });
    expect(decodeVin('1HGCM82630A004352', 2026).modelYearCandidates).toEqual([]);
  });

  it('identifies low-volume manufacturers by positions 12 to 14, and leaves the make empty where several share a WMI', () => {
    expect(decodeVin('109AAAAAAAA024111', 2026)).toMatchObject({ wmi: '109024', make: 'Ottawa Brimont Corporation' });
    expect(decodeVin('109AAAAAAAAZZZ111', 2026)).toMatchObject({ wmi: '109', make: '' });
    expect(decodeVin('1C4AAAAAAAAAAAAAA', 2026)).toMatchObject({ wmi: '1C4', make: '' });
  });

  it('decodes every well-formed VIN', () => {
    fc.assert(
      fc.property(vins, (vin) => {
        const { modelYear, modelYearCandidates, wmi } = decodeVin(vin, 2026);
        expect(vin.startsWith(wmi.slice(0, 3))).toBe(true);
        expect(modelYearCandidates.every((year) => year >= 1980 && year <= 2026)).toBe(true);
        expect(modelYear === null || modelYearCandidates.includes(modelYear)).toBe(true);
      }),
    );
  });
});
