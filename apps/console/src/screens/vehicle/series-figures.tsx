import './charts.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLoad } from '../../api/use-load.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { type Band, Chart } from '../../parts/time/chart.tsx';
import { formatNumber, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import {
  type Break,
  boundsOf,
  type DrawnSeries,
  type Field,
  loadDrawing,
  type Period,
  periods,
  type Window,
} from './series-data.ts';

/** Names a field as a person reads it: can.rpm is rpm. */
export function fieldName(field: string): string {
  const [group, ...parts] = field.split('.').map(decodeURIComponent);
  return group === 'can' || group === 'sensors' ? parts.join(' ') : field;
}

interface FigureOptions {
  readonly series: DrawnSeries;
  readonly bands: readonly Band[];
  readonly unit: string;
  readonly time: { value: number | undefined };
  readonly action?: ComponentChildren;
}

/** The bucket of a series at a time: the last one that began before. */
function indexAt(times: readonly number[], time: number | undefined): number {
  return time === undefined ? times.length - 1 : times.findLastIndex((one) => one <= time);
}

function Figure({ series, bands, unit, time, action }: FigureOptions) {
  const { charts: text } = texts.value;
  const { field, times, mean, minimum, maximum } = series;
  const digits = Math.abs(mean.at(-1) ?? 0) < 10 ? 2 : 1;
  const write = (value: number) =>
    `${formatNumber(value, Math.abs(value) < 100 ? digits : 0)}${unit === '' ? '' : ` ${unit}`}`;
  const index = indexAt(times, time.value);
  const [at, value, least, most] = [times[index], mean[index], minimum[index], maximum[index]];
  const range =
    least !== undefined && most !== undefined && least !== most ? ` (${write(least)} – ${write(most)})` : '';
  return (
    <figure class="card">
      <figcaption>
        <strong>{fieldName(field)}</strong>
        {action}
        <span class="value">
          {at === undefined || value === undefined ? '–' : `${formatTime(at * 1000)} · ${write(value)}${range}`}
        </span>
      </figcaption>
      {times.length === 0 ? (
        <Empty title={text.none} />
      ) : (
        <Chart
          label={field}
          times={series.lineTimes}
          values={series.lineValues}
          format={write}
          height={170}
          bands={bands}
          time={time.value}
          onPoint={(pointed) => {
            time.value = pointed;
          }}
        />
      )}
    </figure>
  );
}

const mostListed = 8;

/** What the marks in the charts mean, the newest first. */
function Breaks({ breaks }: { breaks: readonly Break[] }) {
  const { charts: text } = texts.value;
  if (breaks.length === 0) return null;
  const listed = breaks.slice(-mostListed).reverse();
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

/** The choice of the interval that charts show. */
export function PeriodBar({ window }: { window: { value: Window } }) {
  const { charts: text, trips } = texts.value;
  const { period, back } = window.value;
  const move = (periodsBack: number) => {
    window.value = { period, back: Math.max(0, back + periodsBack) };
  };
  const { from, until } = boundsOf(window.value);
  return (
    <>
      <fieldset class="choice">
        <legend class="visually-hidden">{text.period}</legend>
        {(Object.keys(periods) as Period[]).map((one) => (
          <label key={one}>
            <input
              class="visually-hidden"
              type="radio"
              name="period"
              checked={period === one}
              onChange={() => {
                window.value = { period: one, back: 0 };
              }}
            />
            {text.periods[one]}
          </label>
        ))}
      </fieldset>
      <button type="button" class="button" onClick={() => move(1)}>
        {trips.earlier}
      </button>
      <button type="button" class="button" disabled={back === 0} onClick={() => move(-1)}>
        {trips.later}
      </button>
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
    [vehicleId, chosen.join(), window.period, window.back],
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
          bands={data.bands}
          unit={fields.find(({ field }) => field === series.field)?.unit ?? ''}
          time={time}
          action={
            onRemove && (
              <button type="button" class="button plain" onClick={() => onRemove(series.field)}>
                {texts.value.charts.remove}
              </button>
            )
          }
        />
      ))}
    </>
  );
}
