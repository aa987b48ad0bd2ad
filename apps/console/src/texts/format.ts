import { computed, signal } from '@preact/signals';
import { preferences } from '../preferences.ts';
import { locale } from './texts.ts';
import { decimalsOfStep, shownUnit, toShown } from './units.ts';

/** The time now, UNIX milliseconds, exact to ten seconds; what shows an age follows it. */
const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 10_000);

const zone = computed(() => (preferences.value.zone === 'utc' ? { timeZone: 'UTC' } : {}));
const format = (options: Intl.DateTimeFormatOptions) =>
  computed(() => new Intl.DateTimeFormat(locale.value, { ...options, ...zone.value }));

const time = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const shortTime = format({ hour: '2-digit', minute: '2-digit' });
const day = format({ day: 'numeric', month: 'short' });
const dayWithYear = format({ day: 'numeric', month: 'short', year: 'numeric' });
const year = format({ year: 'numeric' });
const month = format({ month: 'long', year: 'numeric' });
const full = format({ dateStyle: 'medium', timeStyle: 'long' });
const dayKey = format({ year: 'numeric', month: '2-digit', day: '2-digit' });
const relative = computed(() => new Intl.RelativeTimeFormat(locale.value, { numeric: 'always', style: 'short' }));
const justNow = computed(() => new Intl.RelativeTimeFormat(locale.value, { numeric: 'auto' }));

type Moment = string | number;
const dateOf = (moment: Moment): Date => new Date(moment);

/** Writes a time with its day unless it is today: 14:05:09, 21 Nov 14:05. */
export function formatTime(moment: Moment): string {
  const date = dateOf(moment);
  const today = dateOf(now.value);
  if (dayKey.value.format(date) === dayKey.value.format(today)) return time.value.format(date);
  const isThisYear = year.value.format(date) === year.value.format(today);
  return `${(isThisYear ? day : dayWithYear).value.format(date)} ${shortTime.value.format(date)}`;
}

/** Writes hours and minutes only. */
export const formatClock = (moment: Moment): string => shortTime.value.format(dateOf(moment));

/** Writes hours, minutes and seconds. */
export const formatClockSeconds = (moment: Moment): string => time.value.format(dateOf(moment));

/** Writes a day without its year. */
export const formatShortDay = (moment: Moment): string => day.value.format(dateOf(moment));

/** Writes a day. */
export const formatDay = (moment: Moment): string => dayWithYear.value.format(dateOf(moment));

/** Formats a month with its year. */
export const formatMonth = (moment: Moment): string => month.value.format(dateOf(moment));

/** Writes a time in full, with its zone. */
export const formatFull = (moment: Moment): string => full.value.format(dateOf(moment));

const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** Writes how long ago a time was: 3 min ago. */
export function formatAgo(moment: Moment): string {
  const seconds = Math.max(0, (now.value - dateOf(moment).getTime()) / 1000);
  if (seconds < 10) return justNow.value.format(0, 'second');
  const [unit, size] = units.find(([, least]) => seconds >= least) ?? ['second', 1];
  return relative.value.format(-Math.floor(seconds / size), unit);
}

/** Writes a duration: 3 h 20 min. @param seconds */
export function formatDuration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return `${Math.round(seconds)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')}`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Writes a number in the notation of the language. */
export function formatNumber(value: number, digits = 0): string {
  return value.toLocaleString(locale.value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats a value that is already in its shown unit. */
export const formatShown = (value: number, unit: string, digits = 0): string =>
  `${formatNumber(value, digits)}${unit === '' || unit === '°' ? unit : ` ${unit}`}`;

/** Formats a value in the chosen units. @param unit metric */
export function formatQuantity(value: number, unit: string, digits = 0): string {
  const { units: system } = preferences.value;
  return formatShown(toShown(value, unit, system), shownUnit(unit, system), digits);
}

/** Formats a speed. @param kmh km/h */
export const formatSpeed = (kmh: number): string => formatQuantity(kmh, 'km/h');

/** Formats a distance, with a decimal below 100 km or miles. @param km kilometres */
export const formatDistance = (km: number): string =>
  formatQuantity(km, 'km', toShown(km, 'km', preferences.value.units) < 100 ? 1 : 0);

/** Writes a percentage. */
export const formatPercent = (percent: number): string => formatQuantity(percent, '%');

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Formats a size in decimal units. @param step distance between the labels of an axis, bytes */
export function formatBytes(bytes: number, step?: number): string {
  const power = bytes < 1 ? 0 : Math.min(byteUnits.length - 1, Math.floor(Math.log10(bytes) / 3));
  const shown = bytes / 1000 ** power;
  const digits = step === undefined ? Number(power > 0 && shown < 100) : decimalsOfStep(step / 1000 ** power);
  return `${formatNumber(shown, digits)} ${byteUnits[power]}`;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Minutes that the person's clock is ahead of UTC at a time. */
const aheadMinutes = (date: Date): number => (preferences.value.zone === 'utc' ? 0 : -date.getTimezoneOffset());

/** Whether a day begins at a time, in the person's time zone. */
export function isMidnight(moment: Moment): boolean {
  const date = dateOf(moment);
  return (date.getTime() / minuteMs + aheadMinutes(date)) % 1440 === 0;
}

/** Formats a time as the value of a datetime-local input, in the person's zone; empty if it is missing or invalid. */
export function toLocalInput(moment: string | number | undefined): string {
  const date = new Date(moment ?? '');
  const local = new Date(date.getTime() + aheadMinutes(date) * minuteMs);
  return Number.isNaN(local.getTime()) ? '' : local.toISOString().slice(0, 16);
}

/** Reads an input of the type datetime-local, in the person's zone. @returns ISO 8601, UTC; undefined for an empty one */
export function fromLocalInput(text: string): string | undefined {
  if (text === '') return undefined;
  const date = new Date(preferences.value.zone === 'utc' ? `${text}Z` : text);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/**
 * Formats in full, with its zone, the time that is used for the text of a datetime-local input if a clock change repeats
 * or skips that text.
 * @param original the time that filled the input; used as long as the text stands for it
 * @returns undefined for any other text
 */
export function noteClockChange(text: string, original?: string): string | undefined {
  const first = fromLocalInput(text);
  if (first === undefined) return undefined;
  const date = new Date(first);
  const repeatedMinutes = aheadMinutes(date) - aheadMinutes(new Date(date.getTime() + dayMs));
  const isSkipped = toLocalInput(first) !== text;
  const isRepeated = repeatedMinutes > 0 && toLocalInput(date.getTime() + repeatedMinutes * minuteMs) === text;
  if (!isSkipped && !isRepeated) return undefined;
  return formatFull(original !== undefined && toLocalInput(original) === text ? original : first);
}
