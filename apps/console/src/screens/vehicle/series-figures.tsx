import type { FieldFacts } from '@odograph/contracts/fields';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { Choice } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { type Band, type Bounds, Chart } from '../../parts/time/chart.tsx';
import { preferences } from '../../preferences.ts';
import { address, changeQuery, readSeconds } from '../../router.ts';
import { assign } from '../../signals.ts';
import { factsOfSeries, formatValue, nameOfSeries } from '../../texts/fields.ts';
import { formatShown, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { decimalsOfStep, shownUnit, toShown } from '../../texts/units.ts';

const hour = 3600;
const periods = {
  ...{ hour, day: 24 * hour, week: 168 * hour, month: 720 * hour, year: 8760 * hour },
} as const;
type Period = keyof typeof periods;
export type Field = Schema<'Field'>;
type Series = Schema<'Series'>;
type Break = Schema<'Break'>;

const fieldsPerCall = 8;
const buckets = 600;
const minBreakSeconds = 300;

/** The interval that charts show. */
export interface Window {
  readonly period: Period;
  /** UNIX seconds. */
  readonly from: number;
  readonly until: number;
  /** Whether it ends where the charts were opened, and not at a chosen time. */
  readonly isNewest: boolean;
}

/**
 * Reads the interval from the address; it does not move with the clock.
 * @param usual the period if the address names none
 */
export function useWindow(usual: Period): Window {
  const named = address.value.query.get('period');
  const period = (Object.keys(periods) as Period[]).find((one) => one === named) ?? usual;
  const chosen = readSeconds('until');
  return useMemo(() => {
    const until = chosen ?? Math.ceil(Date.now() / 1000);
    return { period, from: until - periods[period], until, isNewest: chosen === undefined };
  }, [period, chosen]);
}

/** Writes the end of an interval for the address. @returns undefined for one that is closer to now than to the one before */
export function writeEnd(until: number, length: number): string | undefined {
  return until < Date.now() / 1000 - length / 2 ? String(until) : undefined;
}

/** Loads the fields for which a vehicle has data. @throws CallFailure */
export async function loadFields(id: string): Promise<readonly Field[]> {
  return (await answerOf(api.GET('/v1/x/vehicle/{id}/fields', { params: { path: { id } } }))).fields;
}

/** A series to draw, with breaks where the vehicle reported nothing; values in metric units. */
interface DrawnSeries extends Series {
  readonly lineTimes: readonly number[];
  readonly lineValues: readonly (number | null)[];
}

/** Series with the intervals that their charts mark. */
export interface Drawing extends Breaks {
  /** UNIX seconds. */
  readonly from: number;
  readonly until: number;
  readonly series: readonly DrawnSeries[];
}

const secondsOf = (time: string): number => Date.parse(time) / 1000;

/** Leaves out values that mean unknown. */
function knownOf(series: Series): Series {
  if (!factsOfSeries(series.field)?.isUnknownAtZero) return series;
  const known = <Value,>(values: readonly Value[]) => values.filter((_, index) => series.mean[index] !== 0);
  const { field, times, minimum, maximum, mean, count } = series;
  return {
    ...{ field, times: known(times), minimum: known(minimum), maximum: known(maximum) },
    ...{ mean: known(mean), count: known(count) },
  };
}

/**
 * Breaks a line where the vehicle reported nothing for long, and in gaps and privacy intervals: it would show values that nobody has
 * measured.
 */
function withBreaks(series: Series, bucketSeconds: number, bands: readonly Band[]): DrawnSeries {
  const maxSeconds = Math.max(3 * bucketSeconds, minBreakSeconds);
  const { times, mean } = series;
  const line = times.flatMap((time, index): [number, number | null][] => {
    const before = times[index - 1];
    const point: [number, number | null] = [time, mean[index] ?? null];
    if (before === undefined) return [point];
    const isBroken = time - before > maxSeconds || bands.some(({ from, until }) => before <= from && until <= time);
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
async function loadDrawing(id: string, fields: readonly string[], { from, until }: Window): Promise<Drawing> {
  const params = { path: { id } };
  const calls: Promise<Schema<'SeriesAnswer'>>[] = [];
  for (let first = 0; first < fields.length; first += fieldsPerCall) {
    const query = { fields: fields.slice(first, first + fieldsPerCall).join(','), from, until, points: buckets };
    calls.push(answerOf(api.GET('/v1/x/vehicle/{id}/series', { params: { ...params, query } })));
  }
  const [{ breaks, bands }, ...answers] = await Promise.all([loadBreaks(id, from, until), ...calls]);
  const series = answers.flatMap((answer) =>
    answer.series.map((one) => withBreaks(knownOf(one), answer.bucketSeconds, bands)),
  );
  return { from, until, series, breaks, bands };
}

interface FigureOptions {
  readonly series: DrawnSeries;
  readonly drawing: Drawing;
  readonly unit: string;
  readonly time: { value: number | undefined };
  readonly action?: ComponentChildren;
}

/** The bucket of a series at a time: the last one that began before. */
function indexAt(times: readonly number[], time: number | undefined): number {
  return time === undefined ? times.length - 1 : times.findLastIndex((one) => one <= time);
}

const boundsOfField = (facts: FieldFacts | undefined, unit: string): Bounds | undefined => {
  if (facts?.minimum !== undefined && facts.maximum !== undefined) return [facts.minimum, facts.maximum];
  return unit === '%' ? [0, 100] : undefined;
};

function Figure({ series, drawing, unit, time, action }: FigureOptions) {
  const { charts: text } = texts.value;
  const { units: system } = preferences.value;
  const { field, times, mean, minimum, maximum, lineValues } = series;
  const facts = factsOfSeries(field);
  const write = (value: number) => formatValue(value, facts, unit);
  // Converted before drawing, so that the labels of the axis are round in the chosen unit.
  const values = useMemo(
    () => lineValues.map((value) => (value === null ? null : toShown(value, unit, system))),
    [lineValues, unit, system],
  );
  const writeLabel = (value: number, step = 1) => formatShown(value, shownUnit(unit, system), decimalsOfStep(step));
  const index = indexAt(times, time.value);
  const [at, value, low, high] = [times[index], mean[index], minimum[index], maximum[index]];
  const range = low !== undefined && high !== undefined && low !== high ? ` (${write(low)} – ${write(high)})` : '';
  return (
    <figure class="card chart-figure">
      <figcaption>
        <strong>{nameOfSeries(field)}</strong>
        {action}
        <span class="value">
          {at === undefined || value === undefined ? '–' : `${formatTime(at * 1000)} · ${write(value)}${range}`}
        </span>
      </figcaption>
      {times.length === 0 ? (
        <Empty title={text.none} />
      ) : (
        <Chart
          label={nameOfSeries(field)}
          from={drawing.from}
          until={drawing.until}
          times={series.lineTimes}
          values={values}
          format={writeLabel}
          height={170}
          bands={drawing.bands}
          bounds={boundsOfField(facts, unit)}
          time={time.value}
          onPoint={(pointed) => assign(time, pointed)}
        />
      )}
    </figure>
  );
}

const maxListed = 8;

/** The legend of the marks in the charts, the newest first. */
function Breaks({ breaks }: { breaks: readonly Break[] }) {
  const { charts: text } = texts.value;
  if (breaks.length === 0) return null;
  const listed = breaks.slice(-maxListed).reverse();
  return (
    <ul class="chart-breaks" aria-label={text.marked}>
      {listed.map(({ kind, from, until, missing = 0 }) => (
        <li key={`${kind} ${from}`}>
          <span class={`swatch ${kind === 'PRIVACY' ? 'private' : 'gap'}`} aria-hidden="true" />
          {kind === 'PRIVACY' ? text.privacy : text.missing(missing)}
          <span class="muted">{`${formatTime(from)} – ${until === undefined ? text.now : formatTime(until)}`}</span>
        </li>
      ))}
      {breaks.length > listed.length && <li class="muted">{text.moreMarked(breaks.length - listed.length)}</li>}
    </ul>
  );
}

/** The choice of the interval that charts show, kept in the address. */
export function IntervalBar({ window }: { window: Window }) {
  const { charts: text, trips } = texts.value;
  const { period, from, until, isNewest } = window;
  const move = (seconds: number) => {
    changeQuery({ until: writeEnd(until + seconds, periods[period]) });
  };
  return (
    <>
      <Choice
        label={text.interval}
        name="period"
        chosen={period}
        options={(Object.keys(periods) as Period[]).map((one) => [one, text.periods[one]] as const)}
        onChoose={(one) => changeQuery({ period: one, until: undefined })}
      />
      <Button onClick={() => move(-periods[period])}>{trips.earlier}</Button>
      <Button disabled={isNewest} onClick={() => move(periods[period])}>
        {trips.later}
      </Button>
      <span class="muted">{`${formatTime(from * 1000)} – ${formatTime(until * 1000)}`}</span>
    </>
  );
}

interface FiguresOptions {
  readonly vehicleId: string;
  readonly fields: readonly Field[];
  /** Names of the fields to draw. */
  readonly chosen: readonly string[];
  readonly window: Window;
  readonly onRemove?: (field: string) => void;
}

/** The charts of some fields, with one cursor; intervals without data are marked. */
export function Figures({ vehicleId, fields, chosen, window, onRemove }: FiguresOptions) {
  const time = useSignal<number | undefined>(undefined);
  const { data, failure, reload } = useLoad(
    () => loadDrawing(vehicleId, chosen, window),
    [vehicleId, window.from, window.until],
    [chosen.join()],
  );
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      <Breaks breaks={data.breaks} />
      {data.series.map((series) => (
        <Figure
          key={series.field}
          series={series}
          drawing={data}
          unit={fields.find(({ field }) => field === series.field)?.unit ?? ''}
          time={time}
          action={
            onRemove && (
              <Button kind="plain" onClick={() => onRemove(series.field)}>
                {texts.value.charts.remove}
              </Button>
            )
          }
        />
      ))}
    </>
  );
}
