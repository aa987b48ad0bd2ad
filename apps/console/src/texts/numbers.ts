// Imports nothing that needs a browser, so that tests can run it.

interface Limits {
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
}

const form = /^[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:e[-+]?\d+)?$/i;
const groupedForm = /^[-+]?[1-9]\d{0,2}([.,])\d{3}$/;

/** Finds the character that a locale writes at a place of 12,345.6. */
const separatorOf = (locale: string, type: 'decimal' | 'group'): string | undefined =>
  new Intl.NumberFormat(locale).formatToParts(12_345.6).find((part) => part.type === type)?.value;

/**
 * Reads a number as a person types it, with a decimal point or a decimal comma.
 * @returns undefined for other text, and where the locale may mean thousands: "1,500" in English is no number, unless
 *   1500 is beyond the maximum
 */
export function readNumber(text: string, locale: string, { maximum = Infinity }: Limits = {}): number | undefined {
  const typed = text.trim();
  if (!form.test(typed)) return undefined;
  const separator = groupedForm.exec(typed)?.[1];
  const isAmbiguous = separator !== undefined && separator === separatorOf(locale, 'group');
  if (isAmbiguous && Math.abs(Number(typed.replace(separator, ''))) <= maximum) return undefined;
  const number = Number(typed.replace(',', '.'));
  return Number.isFinite(number) ? number : undefined;
}

/** Writes a number for an input, with all its digits and the decimal separator of the locale. */
export function writeNumber(value: number, locale: string): string {
  return String(value).replace('.', separatorOf(locale, 'decimal') ?? '.');
}
