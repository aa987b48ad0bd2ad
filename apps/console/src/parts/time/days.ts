import type { Preferences } from '../../preferences.ts';

type Zone = Preferences['zone'];

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Tests whether text is a day, YYYY-MM-DD. */
export const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

/** Adds days to a day. @param day YYYY-MM-DD @param count may be negative */
export function addDays(day: string, count: number): string {
  // Without a time, dates are UTC, where every day has 24 hours.
  return new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10);
}

/** Returns the time of an hour of a day, UNIX milliseconds. An hour skipped by a clock change becomes the next one. */
export function timeOf(day: string, hour: number, zone: Zone): number {
  return Date.parse(`${day}T${String(hour).padStart(2, '0')}:00${zone === 'utc' ? 'Z' : ''}`);
}

/** Returns the day of a time, as YYYY-MM-DD. @param time UNIX milliseconds */
export function dayOf(time: number, zone: Zone): string {
  const aheadMinutes = zone === 'utc' ? 0 : -new Date(time).getTimezoneOffset();
  return new Date(time + aheadMinutes * minuteMs).toISOString().slice(0, 10);
}
