import { invalidParameter } from './failures.ts';

/** A timestamp in microseconds since the UNIX epoch, the resolution of device time. */
export type Microseconds = bigint;

/** A timestamp as clients write it; see parseTimestamp. */
export type Timestamp = string | number;

/** From this number on, timestamps are in milliseconds: in seconds they would lie beyond the year 5000. */
const minMilliseconds = 100_000_000_000n * 1_000_000n;
/** From this number on, timestamps are in microseconds, which no client of the interface sends. */
const minMicroseconds = 100_000_000_000_000n;
/** The last microsecond of the year 9999, the largest that ISO 8601 represents without further agreement. */
const latest: Microseconds = 253_402_300_799_999_999n;
const numberForm = /^(\d{1,20})(?:\.(\d{1,400}))?$/;
const exponentForm = /^\d{1,20}(?:\.\d{1,20})?e[+-]?\d{1,3}$/i;
// A plus sign that a client did not encode arrives as a space.
const isoForm = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,20}))?)?(?:Z|([+ -])(\d\d):?(\d\d))?)?$/i;

/** Rounds a decimal fraction to microseconds; fractions printed from binary numbers have rounding errors. */
function fractionMicroseconds(digits = ''): Microseconds {
  const padded = digits.padEnd(7, '0');
  return BigInt(padded.slice(0, 6)) + (padded.charCodeAt(6) >= 53 ? 1n : 0n);
}

function parseNumber(text: string): Microseconds | undefined {
  if (exponentForm.test(text)) {
    const number = Number(text);
    return Number.isSafeInteger(Math.round(number)) ? parseNumber(number.toFixed(7)) : undefined;
  }
  const match = numberForm.exec(text);
  if (!match) return undefined;
  const whole = BigInt(match[1] ?? '0');
  const value = whole * 1_000_000n + fractionMicroseconds(match[2]);
  if (whole >= minMicroseconds) return value;
  return value >= minMilliseconds ? value / 1000n : value;
}

function parseIso(text: string): Microseconds | undefined {
  const match = isoForm.exec(text);
  if (!match) return undefined;
  const [, date = '', time = '00:00', seconds = '00', fraction, sign, hours = '0', minutes = '0'] = match;
  const wallClock = new Date(`${date}T${time}:${seconds}Z`);
  // Date would silently turn February 30 into a day of March.
  if (Number.isNaN(wallClock.getTime()) || wallClock.toISOString().slice(0, 10) !== date) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return BigInt(wallClock.getTime() - offsetMs) * 1000n + fractionMicroseconds(fraction);
}

/**
 * Parses a timestamp: UNIX seconds with any fraction, UNIX milliseconds (from 1e11 on), or ISO 8601 (UTC by default).
 * @param field the parameter's name, for the failure
 * @throws Failure INVALID_PARAMETER for other text, and for a timestamp before 1970 or after 9999
 */
export function parseTimestamp(field: string, timestamp: Timestamp): Microseconds {
  const text = String(timestamp);
  const moment = parseNumber(text) ?? parseIso(text);
  if (moment === undefined) throw invalidParameter(field, 'must be UNIX seconds, milliseconds or ISO 8601');
  if (moment < 0n) throw invalidParameter(field, 'must not lie before 1970');
  if (moment > latest) throw invalidParameter(field, 'lies beyond the year 9999: is it in microseconds?');
  return moment;
}

/** Parses a timestamp that may be left out. @throws Failure as parseTimestamp */
export function parseOptionalTimestamp(field: string, timestamp: Timestamp | undefined): Microseconds | undefined {
  return timestamp === undefined ? undefined : parseTimestamp(field, timestamp);
}

/** Formats a timestamp in ISO 8601, UTC, with microseconds, which PostgreSQL reads exactly. */
export function isoMicroseconds(moment: Microseconds): string {
  const microseconds = ((moment % 1000n) + 1000n) % 1000n;
  const milliseconds = Number((moment - microseconds) / 1000n);
  return new Date(milliseconds).toISOString().replace('Z', `${String(microseconds).padStart(3, '0')}Z`);
}
