import { type Fields, type FieldValue, fieldType, fullPath, isMissing, maxTires } from './fields.ts';
import { normalizePlate } from './identity.ts';
import { normalizeVin } from './vin.ts';

/** The reason why a field is invalid; `field` is its name in the row, empty for the whole row. */
export interface Fault {
  field: string;
  message: string;
}

/** A parsed value, or the reason why it is invalid. */
type Read = { value: FieldValue } | { fault: string };

const maxTextLength = 256;
const maxNumber = 1e9;
const words = new Map([
  ...['true', '1', 'yes', 'oui', 'vrai'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'non', 'faux'].map((word) => [word, false] as const),
]);
const dateFields: ReadonlySet<string> = new Set(['certificate.first_registration', 'certificate.certificate_date']);

function readNumber(value: unknown): Read {
  if (typeof value === 'number') return checkNumber(value);
  if (typeof value !== 'string') return { fault: 'must be a number' };
  const text = value.trim();
  // A comma is the decimal separator in French files and the thousands separator in English ones.
  if (/^[1-9]\d{0,2},\d{3}$/.test(text)) return { fault: 'is ambiguous: remove the thousands separator' };
  return /^\d+([.,]\d+)?$/.test(text) ? checkNumber(Number(text.replace(',', '.'))) : { fault: 'must be a number' };
}

function checkNumber(value: number): Read {
  return value >= 0 && value <= maxNumber ? { value } : { fault: `must be between 0 and ${maxNumber}` };
}

function readBoolean(value: unknown): Read {
  const word = typeof value === 'boolean' ? value : words.get(String(value).trim().toLowerCase());
  return word === undefined ? { fault: 'must be true or false' } : { value: word };
}

function readText(value: unknown): Read {
  if (typeof value !== 'string' && typeof value !== 'number') return { fault: 'must be text' };
  const text = String(value).trim();
  if (text.length > maxTextLength) return { fault: `is longer than ${maxTextLength} characters` };
  // PostgreSQL rejects NUL and unpaired surrogates.
  return /[\0\p{Surrogate}]/u.test(text) ? { fault: 'contains characters that cannot be stored' } : { value: text };
}

/** Reads a date in ISO 8601 or in the French format into ISO 8601. */
function readDate(text: string): Read {
  const french = /^(\d\d)[/.](\d\d)[/.](\d{4})$/.exec(text);
  const iso = french ? `${french[3]}-${french[2]}-${french[1]}` : text.slice(0, 10);
  const isWritten = french !== null || /^\d{4}-\d\d-\d\d(T[\d:.]+Z?)?$/.test(text);
  const date = new Date(`${iso}T00:00:00Z`);
  const isDay = isWritten && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(iso);
  return isDay ? { value: iso } : { fault: 'must be a date, such as 2021-03-15 or 15/03/2021' };
}

function readSpecialText(path: string, text: string): Read {
  if (text === '') return { value: text };
  if (dateFields.has(path)) return readDate(text);
  if (path === 'certificate.plate') {
    const plate = normalizePlate(text);
    return plate ? { value: plate.display } : { fault: 'is not a French plate such as AB-123-CD or 1234 AB 75' };
  }
  if (path === 'certificate.vin') {
    const vin = normalizeVin(text);
    return vin === undefined ? { fault: 'is not a VIN: 17 digits and letters without I, O and Q' } : { value: vin };
  }
  return { value: text };
}

function readValue(path: string, value: unknown): Read {
  const type = fieldType(path);
  if (type === 'number') return readNumber(value);
  if (type === 'boolean') return readBoolean(value);
  const text = readText(value);
  return 'value' in text ? readSpecialText(path, String(text.value)) : text;
}

/** Yields the leaves of nested objects and arrays by their path, down to the depth of a record. */
function* leaves(value: unknown, path = '', depth = 0): Generator<[path: string, value: unknown]> {
  if (typeof value !== 'object' || value === null || depth > 3) {
    yield [path, value];
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    yield* leaves(inner, path === '' ? name : `${path}.${name}`, depth + 1);
  }
}

function readGiven(path: string, value: unknown): Read {
  const isBlank = value === null || value === undefined || (typeof value === 'string' && value.trim() === '');
  return isBlank ? { value: '' } : readValue(path, value);
}

function unknownField(name: string): Read {
  return {
    fault: name.startsWith('tires.') ? `is not a field of the first ${maxTires} tires` : 'is not a field of a record',
  };
}

/**
 * Reads a record from an external source. Sections and fields are named as in the specification, fields also without
 * their section (`vin`, `front_width`); values may be text. Missing and empty values are left out.
 */
export function readFields(record: unknown): { fields: Fields; faults: Fault[] } {
  const fields = new Map<string, FieldValue>();
  const faults: Fault[] = [];
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return { fields, faults: [{ field: '', message: 'is not a record' }] };
  }
  for (const [name, value] of leaves(record)) {
    // Answers of the interface can be imported unchanged.
    if (name === 'error') continue;
    const path = fullPath(name);
    const read = path === undefined ? unknownField(name) : readGiven(path, value);
    if ('fault' in read) faults.push({ field: name, message: read.fault });
    else if (path !== undefined && !isMissing(read.value)) fields.set(path, read.value);
  }
  return { fields, faults };
}
