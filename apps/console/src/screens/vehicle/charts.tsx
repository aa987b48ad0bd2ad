import './charts.css';
import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import type { LiveVehicle } from '../../live/live-stream.ts';
import { Chart } from '../../parts/chart.tsx';
import { formatNumber, formatTime } from '../../parts/format.ts';
import { Empty, LoadFailure, Loading } from '../../parts/placeholders.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { texts } from '../../texts/texts.ts';

const hour = 3600;
const periods = { hour, day: 24 * hour, week: 168 * hour, month: 720 * hour, year: 8760 * hour } as const;
type Period = keyof typeof periods;
type Series = Schema<'Series'>;
type Field = Schema<'Field'>;

/** Shown until a person chooses others, as far as the vehicle has them. */
const usualFields = ['speed', 'soc', 'mileage'];
const mostFields = 8;
const buckets = 600;
const shortestBreakSeconds = 300;

async function loadFields({ id }: LiveVehicle): Promise<readonly Field[]> {
  return (await answerOf(api.GET('/v1/x/vehicle/{id}/fields', { params: { path: { id } } }))).fields;
}

interface Window {
  readonly period: Period;
  /** Periods before now. */
  readonly back: number;
}

function boundsOf({ period, back }: Window): { from: number; until: number } {
  const until = Math.ceil(Date.now() / 1000) - back * periods[period];
  return { from: until - periods[period], until };
}

/** A series to draw, with breaks where the vehicle reported nothing. */
interface DrawnSeries extends Series {
  readonly lineTimes: readonly number[];
  readonly lineValues: readonly (number | null)[];
}

/** A line over a longer time without a value would show values that nobody has measured. */
function withBreaks(series: Series, bucketSeconds: number): DrawnSeries {
  const longest = Math.max(3 * bucketSeconds, shortestBreakSeconds);
  const { times, mean } = series;
  const line = times.flatMap((time, index): [number, number | null][] => {
    const before = times[index - 1];
    const point: [number, number | null] = [time, mean[index] ?? null];
    return before !== undefined && time - before > longest ? [[before + 1, null], point] : [point];
  });
  return { ...series, lineTimes: line.map(([time]) => time), lineValues: line.map(([, value]) => value) };
}

async function loadSeries(
  { id }: LiveVehicle,
  fields: readonly string[],
  window: Window,
): Promise<readonly DrawnSeries[]> {
  if (fields.length === 0) return [];
  const query = { fields: fields.join(','), ...boundsOf(window), points: buckets };
  const call = api.GET('/v1/x/vehicle/{id}/series', { params: { path: { id }, query } });
  const { series, bucketSeconds } = await answerOf(call);
  return series.map((one) => withBreaks(one, bucketSeconds));
}

interface FigureOptions {
  readonly series: DrawnSeries;
  readonly unit: string;
  readonly time: { value: number | undefined };
  readonly onRemove: () => void;
}

/** The bucket of a series at a time: the last one that began before. */
function indexAt(times: readonly number[], time: number | undefined): number {
  return time === undefined ? times.length - 1 : times.findLastIndex((one) => one <= time);
}

function Figure({ series, unit, time, onRemove }: FigureOptions) {
  const { charts: text } = texts.value;
  const { field, times, mean, minimum, maximum } = series;
  const write = (value: number) =>
    `${formatNumber(value, Math.abs(value) < 100 ? 1 : 0)}${unit === '' ? '' : ` ${unit}`}`;
  const index = indexAt(times, time.value);
  const [at, value, least, most] = [times[index], mean[index], minimum[index], maximum[index]];
  const range =
    least !== undefined && most !== undefined && least !== most ? ` (${write(least)} – ${write(most)})` : '';
  return (
    <figure class="card">
      <figcaption>
        <strong>{field}</strong>
        <button type="button" class="button plain" onClick={onRemove}>
          {text.remove}
        </button>
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
          time={time.value}
          onPoint={(pointed) => {
            time.value = pointed;
          }}
        />
      )}
    </figure>
  );
}

function PeriodBar({ window }: { window: { value: Window } }) {
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

function Figures({
  vehicle,
  fields,
  chosen,
  window,
}: {
  vehicle: LiveVehicle;
  fields: readonly Field[];
  chosen: { value: readonly string[] };
  window: Window;
}) {
  const time = useSignal<number | undefined>(undefined);
  const { data, failure, reload } = useLoad(
    () => loadSeries(vehicle, chosen.value, window),
    [vehicle.id, chosen.value.join(), window.period, window.back],
  );
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const remove = (field: string) => {
    chosen.value = chosen.value.filter((one) => one !== field);
  };
  return (
    <>
      {failure && <p class="notice late">{failure}</p>}
      {data.map((series) => (
        <Figure
          key={series.field}
          series={series}
          unit={fields.find(({ field }) => field === series.field)?.unit ?? ''}
          time={time}
          onRemove={() => remove(series.field)}
        />
      ))}
    </>
  );
}

function Chosen({ vehicle, fields }: { vehicle: LiveVehicle; fields: readonly Field[] }) {
  const { charts: text } = texts.value;
  const known = fields.map(({ field }) => field);
  const chosen = useSignal<readonly string[]>(usualFields.filter((field) => known.includes(field)));
  const window = useSignal<Window>({ period: 'day', back: 0 });
  const add = (field: string) => {
    chosen.value = [...chosen.value, field];
  };
  return (
    <div class="page charts">
      <div class="charts-bar">
        <PeriodBar window={window} />
        <select
          class="input"
          aria-label={text.add}
          value=""
          disabled={chosen.value.length >= mostFields}
          onChange={({ currentTarget }) => add(currentTarget.value)}
        >
          <option value="">{text.add}</option>
          {known
            .filter((field) => !chosen.value.includes(field))
            .map((field) => (
              <option key={field} value={field}>
                {field}
              </option>
            ))}
        </select>
      </div>
      {chosen.value.length === 0 && <Empty title={text.choose} />}
      <Figures vehicle={vehicle} fields={fields} chosen={chosen} window={window.value} />
    </div>
  );
}

/** Any field of a vehicle over any period up to a year, several with one cursor. */
export function Charts({ vehicle }: { vehicle: LiveVehicle }) {
  const { vehiclePage } = texts.value;
  const { data, failure, reload } = useLoad(() => loadFields(vehicle), [vehicle.id]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.length === 0) return <Empty title={vehiclePage.noData}>{<p>{vehiclePage.noDataText}</p>}</Empty>;
  return <Chosen vehicle={vehicle} fields={data} />;
}
