import { readFileSync } from 'node:fs';
import { word } from '@odograph/http/schemas';
import Type, { type Static } from 'typebox';

interface Manufacturer {
  wmi: string;
  make: string;
  /** True when the identifier stands for cars, vans or light trucks. */
  isLight: boolean;
}

const lightKinds: ReadonlySet<string> = new Set(['car', 'mpv', 'truck']);

function readManufacturers(): ReadonlyMap<string, Manufacturer> {
  const lines = readFileSync(new URL('manufacturers.tsv', import.meta.url), 'utf8').split('\n');
  return new Map(
    lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [wmi = '', make = '', kind = ''] = line.split('\t');
        return [wmi, { wmi, make, isLight: lightKinds.has(kind) }] as const;
      }),
  );
}

const manufacturers = readManufacturers();

/** A 9 in position 3 marks a low-volume manufacturer, identified by positions 12 to 14 as well (ISO 3780). */
function manufacturerOf(vin: string): Manufacturer | undefined {
  const wmi = vin.slice(0, 3);
  return (wmi.endsWith('9') ? manufacturers.get(wmi + vin.slice(11, 14)) : undefined) ?? manufacturers.get(wmi);
}

/** ISO 3779: 17 characters, digits and capital letters without I, O and Q. */
const vinForm = /^[A-HJ-NPR-Z0-9]{17}$/;
const weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
/** Values of letters by 49 CFR 565.15, table III; I, O and Q have none. */
const letterValues: Readonly<Record<string, number>> = Object.fromEntries(
  ['AJ', 'BKS', 'CLT', 'DMU', 'ENV', 'FW', 'GPX', 'HY', 'RZ'].flatMap((letters, index) =>
    letters.split('').map((letter) => [letter, index + 1]),
  ),
);
/** Model year codes by 49 CFR 565.15, table VII: a cycle of 30 years, from 1980 and again from 2010. */
const yearCodes = 'ABCDEFGHJKLMNPRSTVWXY123456789';

/** The information that a VIN carries. */
export const VinReport = Type.Object(
  {
    vin: Type.String({ examples: ['VF1AG000000000001'] }),
    /** World manufacturer identifier (ISO 3780): three characters, six for low-volume manufacturers. */
    wmi: Type.String({ examples: ['VF1'] }),
    /** Empty when the manufacturer is not listed or builds several makes under one identifier. */
    make: Type.String({ examples: ['Renault'] }),
    /** Validity of the North American check digit in position 9; `absent` when that position has another character. */
    checkDigit: word(['valid', 'invalid', 'absent']),
    /** True for North American VINs; elsewhere a check digit is optional and an invalid one is not an error. */
    checkDigitRequired: Type.Boolean(),
    /** Null when the VIN leaves the model year ambiguous. */
    modelYear: Type.Union([Type.Integer(), Type.Null()]),
    /** The model years that position 10 can encode, provided that the manufacturer encodes the model year there. */
    modelYearCandidates: Type.Array(Type.Integer()),
  },
  { title: 'VinReport' },
);
type VinReport = Static<typeof VinReport>;

/** Normalizes a VIN to capitals without separators; returns undefined for text that is not a VIN by ISO 3779. */
export function normalizeVin(text: string): string | undefined {
  const compact = text.replace(/[\s._-]/g, '');
  // Upper-casing would turn some non-ASCII letters into ASCII capitals.
  if (!/^[A-Za-z0-9]*$/.test(compact)) return undefined;
  const vin = compact.toUpperCase();
  return vinForm.test(vin) ? vin : undefined;
}

/** Computes the North American check digit of a VIN (49 CFR 565.15 (c)); position 9 itself has weight 0. */
export function computeCheckDigit(vin: string): string {
  const sum = weights.reduce((total, weight, index) => {
    const character = vin.charAt(index);
    return total + weight * (letterValues[character] ?? Number(character));
  }, 0);
  const remainder = sum % 11;
  return remainder === 10 ? 'X' : String(remainder);
}

function checkDigitOf(vin: string): VinReport['checkDigit'] {
  const given = vin.charAt(8);
  if (!/[0-9X]/.test(given)) return 'absent';
  return given === computeCheckDigit(vin) ? 'valid' : 'invalid';
}

/** For light vehicles, position 7 distinguishes the two cycles: a digit means the first (49 CFR 565.15 (d) (1)). */
function modelYearOf(vin: string, first: number | undefined, manufacturer: Manufacturer | undefined): number | null {
  if (first === undefined || !isNorthAmerican(vin) || !manufacturer?.isLight) return null;
  return /\d/.test(vin.charAt(6)) ? first : first + 30;
}

function isNorthAmerican(vin: string): boolean {
  return /^[1-5]/.test(vin);
}

/**
 * Decodes a VIN. European VINs need neither a check digit nor a model year: both are reported, neither makes a VIN invalid.
 * @param vin as returned by normalizeVin
 * @param latestYear the newest model year that can be on the road
 */
export function decodeVin(vin: string, latestYear: number): VinReport {
  const manufacturer = manufacturerOf(vin);
  const code = yearCodes.indexOf(vin.charAt(9));
  const first = code < 0 ? undefined : 1980 + code;
  const possible = (year: number) => year <= latestYear;
  const candidates = first === undefined ? [] : [first, first + 30].filter(possible);
  const year = modelYearOf(vin, first, manufacturer);
  return {
    vin,
    wmi: manufacturer?.wmi ?? vin.slice(0, 3),
    make: manufacturer?.make ?? '',
    checkDigit: checkDigitOf(vin),
    checkDigitRequired: isNorthAmerican(vin),
    modelYear: year !== null && possible(year) ? year : null,
    modelYearCandidates: candidates,
  };
}
