import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { Chart } from '../../parts/time/chart.tsx';
import { formatBytes, formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';

type Point = Schema<'PipelinePoint'>;
type FigureName = Exclude<keyof Point, 'at'>;

const refreshMs = 10_000;
const points = 240;

const rate = (perSecond: number): string => `${formatNumber(perSecond, perSecond < 10 ? 1 : 0)} /s`;
const milliseconds = (ms: number): string => (ms < 1000 ? `${formatNumber(ms)} ms` : `${formatNumber(ms / 1000, 1)} s`);
const seconds = (value: number): string => milliseconds(value * 1000);

/** The figures that are shown, in the order in which an upload passes them. */
const figures: readonly (readonly [name: FigureName, format: (value: number) => string])[] = [
  ['connectedDevices', formatNumber],
  ['acceptedUploadsPerSecond', rate],
  ['refusedPacketsPerSecond', rate],
  ['pubackP99Ms', milliseconds],
  ['waitingJobs', formatNumber],
  ['oldestJobSeconds', seconds],
  ['storedReadingsPerSecond', rate],
  ['lagP99Ms', milliseconds],
  ['quarantinedUploadsPerSecond', rate],
  ['databaseBytes', formatBytes],
  ['redisBytes', formatBytes],
  ['heldBytes', formatBytes],
];

async function load(hours: number): Promise<readonly Point[]> {
  const until = Math.floor(Date.now() / 1000);
  const query = { from: until - hours * 3600, until, points };
  return (await answerOf(api.GET('/v1/x/admin/pipeline', { params: { query } }))).points;
}

interface FigureOptions {
  readonly name: FigureName;
  readonly history: readonly Point[];
  readonly times: readonly number[];
  readonly format: (value: number) => string;
  readonly time: { value: number | undefined };
}

/** One figure: its newest value, or that at the time that a person points at, and its history. */
function Figure({ name, history, times, format, time }: FigureOptions) {
  const label = texts.value.pipeline.figures[name];
  const values = useMemo(() => history.map((point) => point[name]), [history, name]);
  const pointed = time.value === undefined ? -1 : times.indexOf(time.value);
  const value = (pointed < 0 ? history.findLast((point) => point[name] !== null) : history[pointed])?.[name];
  return (
    <figure class="card">
      <figcaption>
        <span class="muted">{label}</span>
        <strong>{value == null ? '–' : format(value)}</strong>
      </figcaption>
      <Chart
        label={label}
        times={times}
        values={values}
        format={format}
        height={110}
        isFromZero
        time={time.value}
        onPoint={(at) => {
          time.value = at;
        }}
      />
    </figure>
  );
}

/** The figures of the pipeline with their history; pointing at one shows the same moment in all. */
export function Figures({ hours }: { hours: number }) {
  const turn = useSignal(0);
  const time = useSignal<number | undefined>(undefined);
  useEffect(() => {
    const timer = setInterval(() => {
      // What a person points at stays.
      if (document.visibilityState === 'visible' && time.value === undefined) turn.value += 1;
    }, refreshMs);
    return () => clearInterval(timer);
  }, []);
  const { data, failure, reload } = useLoad(() => load(hours), [hours, turn.value]);
  const times = useMemo(() => (data ?? []).map(({ at }) => Date.parse(at) / 1000), [data]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.length === 0) return <Empty title={texts.value.pipeline.noHistory} />;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: where the pointer is matters to the charts in it
    <div
      class="pipeline-charts"
      onMouseLeave={() => {
        time.value = undefined;
      }}
    >
      {figures.map(([name, format]) => (
        <Figure key={name} name={name} history={data} times={times} format={format} time={time} />
      ))}
    </div>
  );
}
