import { addDays, dayOf, isDay, timeOf } from '../../parts/time/days.ts';
import type { Preferences } from '../../preferences.ts';

type Zone = Preferences['zone'];

/** The lengths of the calendar, in days. */
export const spans = [1, 7, 14, 28] as const;

/** An interval in time, UNIX milliseconds. */
export interface Interval {
  readonly from: number;
  readonly until: number;
}

/** The days that the calendar shows. A day has 23 or 25 hours when the clocks change. */
export interface CalendarDays extends Interval {
  /** YYYY-MM-DD. */
  readonly firstDay: string;
  readonly count: number;
}

/** Returns `count` days from `firstDay`. @param firstDay YYYY-MM-DD; today if it is null or invalid */
export function daysFrom(firstDay: string | null, count: number, zone: Zone): CalendarDays {
  const first = firstDay !== null && isDay(firstDay) ? firstDay : dayOf(Date.now(), zone);
  return { firstDay: first, count, from: timeOf(first, 0, zone), until: timeOf(addDays(first, count), 0, zone) };
}

/** Returns the place of a time in an interval: 0 at its start, 1 at its end. */
export const shareOf = (time: number, { from, until }: Interval): number => (time - from) / (until - from);

/** Returns the times to label: every third hour of one day, else the starts of up to 14 days. */
export function tickTimes({ firstDay, count }: CalendarDays, zone: Zone): number[] {
  const hours = [0, 3, 6, 9, 12, 15, 18, 21];
  if (count === 1) return hours.map((hour) => timeOf(firstDay, hour, zone));
  const step = Math.ceil(count / 14);
  return Array.from({ length: count / step }, (_unused, index) => timeOf(addDays(firstDay, index * step), 0, zone));
}
