// Has no imports because the console bundles it for the browser.

/** Reads ISO 8601 or UNIX time in seconds or milliseconds. @returns UNIX seconds; undefined for an invalid time */
export function secondsOf(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : undefined;
  const number = text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : value;
  // UNIX seconds reach 100,000,000,000 in the year 5138; milliseconds passed it in 1973.
  if (typeof number === 'number') return number >= 1e11 ? number / 1000 : number;
  // Date.parse would take 10/03/2024+01:00 for 3 October.
  if (text === undefined || !/^\d{4}-/.test(text)) return undefined;
  // PostgreSQL writes an offset of whole hours as +01, which Date.parse does not read.
  const full = text.replace(/(:[\d.]+ ?[+-]\d\d)$/, '$1:00');
  // Devices report times without a zone in UTC.
  const isZoned = /(Z|[+-]\d\d:?\d\d)$/i.test(full);
  const milliseconds = Date.parse(isZoned ? full : `${full.replace(' ', 'T')}Z`);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** Formats a timestamp in ISO 8601. @param seconds since the epoch */
export const isoTime = (seconds: number): string => new Date(Math.round(seconds * 1000)).toISOString();
