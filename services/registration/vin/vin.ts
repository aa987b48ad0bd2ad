import { type Manufacturer, manufacturerOf } from './manufacturers.ts';

/** ISO 3779: 17 characters, digits and capital letters without I, O and Q. */
const vinForm = /^[A-HJ-NPR-Z0-9]{17}$/;
const weights = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
/** 49 CFR 565.15, table III: letters by value, I, O and Q having none. */
const letterValues: Readonly<Record<string, number>> = Object.fromEntries(
  ['AJ', 'BKS', 'CLT', 'DMU', 'ENV', 'FW', 'GPX', 'HY', 'RZ'].flatMap((letters, index) =>
    letters.split('').map((letter) => [letter, index + 1]),
  ),
);
/** 49 CFR 565.15, table VII: the codes of 30 model years, from 1980 and again from 2010. */
const yearCodes = 'ABCDEFGHJKLMNPRSTVWXY123456789';

/** What a VIN says by itself. */
export interface VinReport {
  vin: string;
  /** World manufacturer identifier (ISO 3780): three characters, six for makers of few vehicles. */
  wmi: string;
  /** Empty when the manufacturer is not listed, or builds several makes under one identifier. */
  make: string;
  /** Whether position 9 holds the North American check digit; `absent` when it holds no check digit at all. */
  checkDigit: 'valid' | 'invalid' | 'absent';
  /** Only North American VINs must have a check digit; elsewhere an invalid one is no fault. */
  checkDigitRequired: boolean;
  /** The model year, null when the VIN does not tell it for certain. */
  modelYear: number | null;
  /** The model years that position 10 can stand for, if the manufacturer writes the model year there. */
  modelYearCandidates: number[];
}

/** The VIN in capitals without separators; undefined for text that is not of the form of ISO 3779. */
export function normalizeVin(text: string): string | undefined {
  const compact = text.replace(/[\s._-]/g, '');
  // Upper-casing makes capitals of letters that are no ASCII, too.
  if (!/^[A-Za-z0-9]*$/.test(compact)) return undefined;
  const vin = compact.toUpperCase();
  return vinForm.test(vin) ? vin : undefined;
}

/** The check digit that a VIN has in North America (49 CFR 565.15 (c)); position 9 itself does not count. */
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

/** Position 7 tells the two cycles apart for light vehicles (49 CFR 565.15 (d) (1)): a digit for the first one. */
function modelYearOf(vin: string, first: number | undefined, maker: Manufacturer | undefined): number | null {
  if (first === undefined || !isNorthAmerican(vin) || !maker?.isLight) return null;
  return /\d/.test(vin.charAt(6)) ? first : first + 30;
}

function isNorthAmerican(vin: string): boolean {
  return /^[1-5]/.test(vin);
}

/**
 * Reads what a VIN says without any register. European VINs need neither check digit nor model year: both are reported,
 * neither is a reason to refuse.
 * @param vin of the form of ISO 3779, as normalizeVin gives it
 * @param latestYear the last model year that can be on the road
 */
export function decodeVin(vin: string, latestYear: number): VinReport {
  const maker = manufacturerOf(vin);
  const code = yearCodes.indexOf(vin.charAt(9));
  const first = code < 0 ? undefined : 1980 + code;
  const possible = (year: number) => year <= latestYear;
  const candidates = first === undefined ? [] : [first, first + 30].filter(possible);
  const year = modelYearOf(vin, first, maker);
  return {
    vin,
    wmi: maker?.wmi ?? vin.slice(0, 3),
    make: maker?.make ?? '',
    checkDigit: checkDigitOf(vin),
    checkDigitRequired: isNorthAmerican(vin),
    modelYear: year !== null && possible(year) ? year : null,
    modelYearCandidates: candidates,
  };
}
