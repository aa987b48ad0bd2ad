import { answerOf, api, type Schema } from '../../api/client.ts';
import type { Band } from '../../parts/time/chart.tsx';

const hour = 3600;
export const periods = {
  ...{ hour, day: 24 * hour, week: 168 * hour, month: 720 * hour, year: 8760 * hour },
} as const;
export type Period = keyof typeof periods;
export type Field = Schema<'Field'>;
type Series = Schema<'Series'>;
export type Break = Schema<'Break'>;

const fieldsPerCall = 8;
const buckets = 600;
const shortestBreakSeconds = 300;

/** The interval that charts show. */
export interface Window {
  readonly period: Period;
  /** Periods before now. */
  readonly back: number;
}

/** The bounds of a window, UNIX seconds. */
export function boundsOf({ period, back }: Window): { from: number; until: number } {
  const until = Math.ceil(Date.now() / 1000) - back * periods[period];
  return { from: until - periods[period], until };
}

/** Loads the fields for which a vehicle has data. @throws CallFailure */
export async function loadFields(id: string): Promise<readonly Field[]> {
  return (await answerOf(api.GET('/v1/x/vehicle/{id}/fields', { params: { path: { id } } }))).fields;
}

/** A series to draw, with breaks where the vehicle reported nothing. */
export interface DrawnSeries extends Series {
  readonly lineTimes: readonly number[];
  readonly lineValues: readonly (number | null)[];
}

/** Series with the intervals that their charts mark. */
export interface Drawing extends Breaks {
  readonly series: readonly DrawnSeries[];
}

const secondsOf = (time: string): number => Date.parse(time) / 1000;

/**
 * Breaks a line where the vehicle reported nothing for long, and in gaps and privacy intervals: it would show values that nobody has
 * measured.
 */
function withBreaks(series: Series, bucketSeconds: number, bands: readonly Band[]): DrawnSeries {
  const longest = Math.max(3 * bucketSeconds, shortestBreakSeconds);
  const { times, mean } = series;
  const line = times.flatMap((time, index): [number, number | null][] => {
    const before = times[index - 1];
    const point: [number, number | null] = [time, mean[index] ?? null];
    if (before === undefined) return [point];
    const isBroken = time - before > longest || bands.some(({ from, until }) => before <= from && until <= time);
    return isBroken ? [[(before + time) / 2, null], point] : [point];
  });
  return { ...series, lineTimes: line.map(([time]) => time), lineValues: line.map(([, value]) => value) };
}

const bandOf = ({ kind, from, until }: Break, end: number): Band => ({
  from: secondsOf(from),
  until: until === undefined ? end : secondsOf(until),
  colour: kind === 'PRIVACY' ? '--accent-soft' : '--alarm-soft',
});

interface Breaks {
  readonly breaks: readonly Break[];
  readonly bands: readonly Band[];
}

/** Loads the intervals that charts mark. @param from UNIX seconds. @param until UNIX seconds. @throws CallFailure */
export async function loadBreaks(id: string, from: number, until: number): Promise<Breaks> {
  const params = { path: { id }, query: { from, until } };
  const { breaks } = await answerOf(api.GET('/v1/x/vehicle/{id}/breaks', { params }));
  return { breaks, bands: breaks.map((one) => bandOf(one, until)) };
}

/** Loads the series of fields in a window, and the intervals that their charts mark. @throws CallFailure */
export async function loadDrawing(id: string, fields: readonly string[], window: Window): Promise<Drawing> {
  const { from, until } = boundsOf(window);
  const params = { path: { id } };
  const calls: Promise<Schema<'SeriesAnswer'>>[] = [];
  for (let first = 0; first < fields.length; first += fieldsPerCall) {
    const query = { fields: fields.slice(first, first + fieldsPerCall).join(','), from, until, points: buckets };
    calls.push(answerOf(api.GET('/v1/x/vehicle/{id}/series', { params: { ...params, query } })));
  }
  const [{ breaks, bands }, ...answers] = await Promise.all([loadBreaks(id, from, until), ...calls]);
  const series = answers.flatMap((answer) => answer.series.map((one) => withBreaks(one, answer.bucketSeconds, bands)));
  return { series, breaks, bands };
}
