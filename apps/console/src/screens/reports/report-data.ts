import { type Column, type ReportKind, reportKinds, tablesOf } from '@odograph/reports/columns';
import { answerOf, api, onlyJson } from '../../api/client.ts';
import { saveFile } from '../../parts/layout/copy.tsx';
import { addDays, isDay } from '../../parts/time/days.ts';
import { address } from '../../router.ts';
import { isOperator, timeZoneOf } from '../../session.ts';
import { formatNumber } from '../../texts/format.ts';
import type { ReportTexts } from '../../texts/report-texts.ts';
import { language, locale, lookUp } from '../../texts/texts.ts';

export const kinds = Object.keys(reportKinds) as ReportKind[];

type Value = string | number | boolean;
export type Row = Readonly<Record<string, Value | undefined>>;

/** A report as returned by the platform. */
export interface Report {
  readonly timeZone: string;
  readonly tables: Readonly<Record<string, readonly Row[]>>;
}

/** The first day and the day after the last, as YYYY-MM-DD. */
type Days = readonly [first: string, end: string];

const day = (year: number, month: number, date: number): string =>
  new Date(Date.UTC(year, month, date)).toISOString().slice(0, 10);

/** Predefined intervals, computed from the parts of today's date and the weekday (Monday is 0). */
const presets = {
  today: (y, m, d) => [day(y, m, d), day(y, m, d + 1)],
  yesterday: (y, m, d) => [day(y, m, d - 1), day(y, m, d)],
  thisWeek: (y, m, d, weekday) => [day(y, m, d - weekday), day(y, m, d + 1)],
  lastWeek: (y, m, d, weekday) => [day(y, m, d - weekday - 7), day(y, m, d - weekday)],
  thisMonth: (y, m, d) => [day(y, m, 1), day(y, m, d + 1)],
  lastMonth: (y, m) => [day(y, m - 1, 1), day(y, m, 1)],
  thisYear: (y, m, d) => [day(y, 0, 1), day(y, m, d + 1)],
  lastYear: (y) => [day(y - 1, 0, 1), day(y, 0, 1)],
} as const satisfies Record<string, (year: number, month: number, date: number, weekday: number) => Days>;
export type Preset = keyof typeof presets | 'own';
export const presetNames: readonly Preset[] = [...(Object.keys(presets) as (keyof typeof presets)[]), 'own'];

/** Returns the days of an interval in a time zone. */
function daysOf(preset: keyof typeof presets, timeZone: string): Days {
  // The locale sv formats dates as ISO 8601.
  const today = new Date(new Date().toLocaleDateString('sv', { timeZone }));
  const weekday = (today.getUTCDay() + 6) % 7;
  return presets[preset](today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate(), weekday);
}

/** The selection in the URL. */
export interface Selection {
  readonly kind: ReportKind;
  readonly preset: Preset;
  /** YYYY-MM-DD. */
  readonly firstDay: string;
  readonly lastDay: string;
  /** The day after the last one. */
  readonly until: string;
  readonly vehicleIds: readonly string[];
  /** Empty for all vehicles. */
  readonly group: string;
}

/** Parses the selection from the URL; by default, the trips of this month. */
export function readSelection(appId: string): Selection {
  const { query } = address.value;
  const named = query.get('interval');
  const kind = kinds.find((one) => one === query.get('kind')) ?? 'trips';
  const preset = presetNames.find((one) => one === named) ?? 'thisMonth';
  const [first, end] = daysOf(preset === 'own' ? 'thisMonth' : preset, timeZoneOf(appId));
  const [from = '', to = ''] = preset === 'own' ? [query.get('from') ?? '', query.get('to') ?? ''] : [];
  const firstDay = isDay(from) ? from : first;
  const lastDay = isDay(to) ? to : addDays(end, -1);
  const vehicleIds = (query.get('vehicles') ?? '').split(',').filter((id) => id !== '');
  const group = query.get('group') ?? '';
  return { kind, preset, firstDay, lastDay, until: addDays(lastDay, 1), vehicleIds, group };
}

function queryOf(appId: string, { firstDay, until, vehicleIds, group }: Selection) {
  return {
    ...{ from: firstDay, until, language: language.value },
    ...(vehicleIds.length > 0 && { vehicleIds: vehicleIds.join(',') }),
    ...(group !== '' && { group }),
    ...(isOperator() && { appId }),
  };
}

/** Loads a report. @throws CallFailure */
export async function loadReport(appId: string, selection: Selection): Promise<Report> {
  const { kind } = selection;
  const query = queryOf(appId, selection);
  const answer = onlyJson(await answerOf(api.GET(`/v1/x/reports/${kind}`, { params: { query } })));
  const read: Readonly<Record<string, unknown>> = answer;
  const tables = Object.keys(tablesOf(kind)).map((name) => [name, read[name] as readonly Row[]]);
  return { timeZone: answer.timeZone, tables: Object.fromEntries(tables) };
}

/** Saves a report as a file, in the language of the page. @throws CallFailure */
export async function downloadReport(appId: string, selection: Selection, format: 'xlsx' | 'pdf'): Promise<void> {
  const { kind, firstDay, lastDay } = selection;
  const query = { ...queryOf(appId, selection), format };
  const content = await answerOf(api.GET(`/v1/x/reports/${kind}`, { params: { query }, parseAs: 'blob' }));
  saveFile(`${kind}-${firstDay}-${lastDay}.${format}`, content);
}

/** Formats the values of columns as PDF files do, but with at most two decimals. */
export function createCellFormat(texts: ReportTexts, timeZone: string) {
  const moments = new Intl.DateTimeFormat(locale.value, { dateStyle: 'short', timeStyle: 'short', timeZone });
  const dates = new Intl.DateTimeFormat(locale.value, { dateStyle: 'medium', timeZone: 'UTC' });
  return ({ type, digits = 0 }: Column, value: Value | undefined): string => {
    if (value === undefined) return '';
    if (typeof value === 'number') return formatNumber(value, Math.min(digits, 2));
    if (type === 'moment') return moments.format(new Date(String(value)));
    if (type === 'date') return dates.format(new Date(String(value)));
    return type === 'word' || type === 'flag' ? (lookUp(texts.words, String(value)) ?? String(value)) : String(value);
  };
}

/** Sorts rows by a column, with a minus sign in descending order; rows without a value come last. */
export function sortRows(rows: readonly Row[], sort: string): readonly Row[] {
  const key = sort.replace('-', '');
  if (key === '') return rows;
  const direction = sort.startsWith('-') ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [left, right] = [one[key], other[key]];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return direction * (typeof left === 'number' ? left - Number(right) : String(left).localeCompare(String(right)));
  });
}
