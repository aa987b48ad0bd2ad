import './pipeline.css';
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { answerOf, api, CallFailure, messageOf, type Schema } from '../../api/client.ts';
import { useLoad } from '../../api/use-load.ts';
import { Choice } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, Heading, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { QuarantineList } from '../../parts/quarantine/quarantine-list.tsx';
import { Chart } from '../../parts/time/chart.tsx';
import { address, navigate } from '../../router.ts';
import { isUnlimited, mayChange } from '../../session.ts';
import { assign } from '../../signals.ts';
import { formatBytes, formatNumber } from '../../texts/format.ts';
import { lookUp, texts } from '../../texts/texts.ts';
import { decimalsOfStep } from '../../texts/units.ts';

type Point = Schema<'PipelinePoint'>;
type FigureName = Exclude<keyof Point, 'at'>;

const refreshMs = 10_000;
const maxPoints = 240;

/** Formats a value, or with `step` the label of an axis; labels one step apart differ. */
type Format = (value: number, step?: number) => string;

const count: Format = (value, step = 1) => formatNumber(value, decimalsOfStep(step));
const rate: Format = (perSecond, step = perSecond < 10 ? 0.1 : 1) => `${count(perSecond, step)} /s`;
const milliseconds: Format = (ms, step) =>
  ms < 1000 ? `${count(ms, step)} ms` : `${count(ms / 1000, step === undefined ? 0.1 : step / 1000)} s`;
const seconds: Format = (value, step) => milliseconds(value * 1000, step === undefined ? undefined : step * 1000);

/** The figures that are shown, in the order in which an upload passes them. */
const figures: readonly (readonly [name: FigureName, format: Format])[] = [
  ['connectedDevices', count],
  ['acceptedUploadsPerSecond', rate],
  ['refusedPacketsPerSecond', rate],
  ['pubackP99Ms', milliseconds],
  ['waitingJobs', count],
  ['oldestJobSeconds', seconds],
  ['storedReadingsPerSecond', rate],
  ['lagP99Ms', milliseconds],
  ['quarantinedUploadsPerSecond', rate],
  ['databaseBytes', formatBytes],
  ['redisBytes', formatBytes],
  ['heldBytes', formatBytes],
];

/** The figures of an interval, UNIX seconds. */
interface History {
  readonly from: number;
  readonly until: number;
  readonly points: readonly Point[];
}

async function loadHistory(hours: number): Promise<History> {
  const until = Math.floor(Date.now() / 1000);
  const query = { from: until - hours * 3600, until, points: maxPoints };
  const { points } = await answerOf(api.GET('/v1/x/admin/pipeline', { params: { query } }));
  return { from: query.from, until, points };
}

interface FigureOptions {
  readonly name: FigureName;
  readonly history: History;
  readonly times: readonly number[];
  readonly format: Format;
  readonly time: { value: number | undefined };
}

/** One figure: its newest value, or that at the time that a person points at, and its history. */
function Figure({ name, history, times, format, time }: FigureOptions) {
  const label = texts.value.pipeline.figures[name];
  const values = useMemo(() => history.points.map((point) => point[name]), [history, name]);
  const pointed = time.value === undefined ? -1 : times.indexOf(time.value);
  const value = (pointed < 0 ? history.points.findLast((point) => point[name] !== null) : history.points[pointed])?.[
    name
  ];
  return (
    <figure class="card">
      <figcaption>
        <span class="muted">{label}</span>
        <strong>{value == null ? '–' : format(value)}</strong>
      </figcaption>
      <Chart
        label={label}
        from={history.from}
        until={history.until}
        times={times}
        values={values}
        format={format}
        height={110}
        isFromZero
        time={time.value}
        onPoint={(at) => assign(time, at)}
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
      // Keep the moment that is pointed at.
      if (document.visibilityState === 'visible' && time.value === undefined) turn.value += 1;
    }, refreshMs);
    return () => clearInterval(timer);
  }, []);
  const { data, failure, reload } = useLoad(() => loadHistory(hours), [hours], [turn.value]);
  const times = useMemo(() => (data?.points ?? []).map(({ at }) => Date.parse(at) / 1000), [data]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  if (data.points.length === 0) return <Empty title={texts.value.pipeline.noHistory} />;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: where the pointer is matters to the charts in it
    <div class="pipeline-charts" onMouseLeave={() => assign(time, undefined)}>
      {figures.map(([name, format]) => (
        <Figure key={name} name={name} history={data} times={times} format={format} time={time} />
      ))}
    </div>
  );
}

const maxReplayed = 1000;

async function loadReasons() {
  return (await answerOf(api.GET('/v1/x/admin/quarantine/reasons'))).reasons;
}

/** Replays the newest open uploads with a reason. @returns their number */
async function replayReason(reason: string): Promise<number> {
  const query = { reason, open: true, order: 'newest' as const, limit: maxReplayed };
  const { quarantine } = await answerOf(api.GET('/v1/x/admin/quarantine', { params: { query } }));
  const ids = quarantine.map(({ id }) => id);
  if (ids.length === 0) return 0;
  return (await answerOf(api.POST('/v1/x/admin/quarantine/replay', { body: { ids } }))).replayed;
}

/** Uploads that could not be stored, by reason, each with the actions on it. */
export function Quarantine() {
  const { pipeline: text, quarantine } = texts.value;
  const { data, failure, reload } = useLoad(loadReasons, []);
  const outcome = useSignal<string | undefined>(undefined);
  const reason = address.value.query.get('reason') ?? undefined;
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  const choose = (chosen: string | undefined) =>
    navigate(chosen === undefined ? '/pipeline' : `/pipeline?${new URLSearchParams({ reason: chosen })}`, {
      replace: true,
    });
  const replayAll = async (chosen: string) => {
    try {
      outcome.value = quarantine.replayed(await replayReason(chosen));
    } catch (error) {
      outcome.value = messageOf(error);
    }
    reload();
  };
  return (
    <>
      {data.length > 0 && (
        <fieldset class="reasons plain">
          <legend class="visually-hidden">{quarantine.byReason}</legend>
          {data.map((one) => (
            <Button
              key={one.reason}
              aria-pressed={reason === one.reason}
              onClick={() => choose(reason === one.reason ? undefined : one.reason)}
            >
              {lookUp(quarantine.reasons, one.reason) ?? one.reason}
              <span class="muted">{formatNumber(one.uploads)}</span>
            </Button>
          ))}
          {reason !== undefined && mayChange() && (
            <Button kind="plain" onClick={() => void replayAll(reason)}>
              {quarantine.replayAll}
            </Button>
          )}
        </fieldset>
      )}
      <div role="status">{outcome.value && <p class="notice">{outcome.value || text.replayed}</p>}</div>
      <QuarantineList search={reason === undefined ? {} : { reason }} onChange={reload} />
    </>
  );
}

const periods = { hour: 1, day: 24, week: 168, month: 720 } as const;
type Period = keyof typeof periods;

type Services = Readonly<Record<string, { readonly ok: boolean; readonly state: string }>>;

/** Reads /health, which answers 503 with the same content while something fails. */
async function loadServices(): Promise<Services> {
  const { data, error } = await api.GET('/health');
  const answer: { services?: Services } = data ?? Object(error);
  if (!answer.services) throw new CallFailure('UNEXPECTED', texts.value.unreachable.title);
  return answer.services;
}

function Services() {
  const { pipeline: text } = texts.value;
  const { data, failure, reload } = useLoad(loadServices, []);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload();
    }, refreshMs);
    return () => clearInterval(timer);
  }, []);
  if (failure) return <LoadFailure message={failure} retry={reload} />;
  if (!data) return <Loading />;
  return (
    <ul class="services">
      {Object.entries(data).map(([name, { ok, state }]) => (
        <li key={name} class={ok ? '' : 'failing'}>
          <span class="mark" aria-hidden="true">
            {ok ? '✓' : '✕'}
          </span>
          {lookUp(text.services, name) ?? name}
          <span class={ok ? 'muted' : ''}>{lookUp(text.serviceStates, state) ?? state}</span>
        </li>
      ))}
    </ul>
  );
}

function IntervalChoice({ period }: { period: { value: Period } }) {
  const { pipeline: text } = texts.value;
  return (
    <Choice
      label={text.interval}
      name="period"
      chosen={period.value}
      options={(Object.keys(periods) as Period[]).map((one) => [one, text.periods[one]] as const)}
      onChoose={(one) => assign(period, one)}
    />
  );
}

/** The progress of uploads from devices to the database, and the uploads that got stuck. */
export function PipelineScreen() {
  const { pipeline: text } = texts.value;
  const period = useSignal<Period>('hour');
  return (
    <div class="page">
      <div class="pipeline-head">
        <Heading text={text.title} />
        {isUnlimited() && <IntervalChoice period={period} />}
      </div>
      <Services />
      {isUnlimited() && <Figures hours={periods[period.value]} />}
      <h2>{text.quarantine}</h2>
      <Quarantine />
      {isUnlimited() && <h2>{text.more}</h2>}
      {isUnlimited() && (
        <nav class="page-links" aria-label={text.more}>
          <a class="button" href="/map/settings">
            {texts.value.mapSettings.title}
          </a>
          <a class="button" href="/queues" data-load>
            {text.queues}
          </a>
          <a class="button" href="/docs" data-load>
            {text.reference}
          </a>
          <a class="button" href="/health" data-load>
            {text.health}
          </a>
          <a class="button" href="/metrics" data-load>
            {text.metrics}
          </a>
        </nav>
      )}
    </div>
  );
}
