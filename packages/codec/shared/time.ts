// Without imports: the console bundles it for the browser.

/** Reads a time in ISO 8601 or in UNIX time, in seconds or in milliseconds; returns UNIX seconds, undefined when it is none. */
export function secondsOf(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : undefined;
  const number = text !== undefined && /^\d+(\.\d+)?$/.test(text) ? Number(text) : value;
  // UNIX seconds reach 100,000,000,000 in the year 5138; milliseconds passed it in 1973.
  if (typeof number === 'number') return number >= 1e11 ? number / 1000 : number;
  if (text === undefined) return undefined;
  // Without a zone, the times of trackers are in UTC.
  const isZoned = /(Z|[+-]\d\d:?\d\d)$/i.test(text);
  const milliseconds = Date.parse(isZoned ? text : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(milliseconds) ? undefined : milliseconds / 1000;
}

/** Formats a timestamp in ISO 8601. @param seconds since the epoch */
export const isoTime = (seconds: number): string => new Date(Math.round(seconds * 1000)).toISOString();
