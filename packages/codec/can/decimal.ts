/** An exact decimal number: `digits` × 10^-`places`. */
export interface Decimal {
  digits: bigint;
  places: number;
}

const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;
/** Bounds the cost of arithmetic with what a file or a client says. */
const maxDigits = 60;

/** Parses a decimal number such as `-0.5` or `1E-7`. @returns undefined for any other text, and beyond 60 digits */
export function parseDecimal(text: string): Decimal | undefined {
  if (text.length > 2 * maxDigits) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = form.exec(text) ?? [];
  if (whole === '' && fraction === '') return undefined;
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n);
  if (digits === 0n) return { digits: 0n, places: 0 };
  const places = fraction.length - Number(exponent);
  if (Math.abs(places) > maxDigits || whole.length + fraction.length > maxDigits) return undefined;
  return shorten({ digits, places });
}

/** Removes trailing zeros of the fraction, and makes `places` 0 or more. */
function shorten({ digits, places }: Decimal): Decimal {
  if (places < 0) return { digits: digits * 10n ** BigInt(-places), places: 0 };
  let rest = digits;
  let count = places;
  while (count > 0 && rest % 10n === 0n) {
    rest /= 10n;
    count -= 1;
  }
  return { digits: rest, places: count };
}

/** Returns the digits of a number that is written with more places. */
export function digitsAt({ digits, places }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - places);
}

/** Returns the nearest double. */
export function toNumber(value: Decimal): number {
  return Number(toText(value));
}

/** Writes a number without an exponent and without trailing zeros. */
export function toText(value: Decimal): string {
  const { digits, places } = shorten(value);
  if (places === 0) return String(digits);
  const sign = digits < 0n ? '-' : '';
  const text = String(digits < 0n ? -digits : digits).padStart(places + 1, '0');
  return `${sign}${text.slice(0, -places)}.${text.slice(-places)}`;
}

/** Returns raw × factor + offset, exactly. */
export function scale(raw: bigint, factor: Decimal, offset: Decimal): Decimal {
  const places = Math.max(factor.places, offset.places);
  return { digits: raw * digitsAt(factor, places) + digitsAt(offset, places), places };
}
