import './exports.css';
import { useEffect } from 'preact/hooks';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { useLoad } from '../../api/use-load.ts';
import { nameVehicles } from '../../parts/forms/vehicle-picker.tsx';
import { headerFor } from '../../parts/layout/application-choice.tsx';
import { ApplicationPage } from '../../parts/layout/application-page.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { Empty, LoadFailure, Loading } from '../../parts/layout/placeholders.tsx';
import { hasRole, isOperator, mayChange } from '../../session.ts';
import { formatBytes, formatFull, formatPercent, formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { ExportForm } from './export-form.tsx';
import { HistoryImport } from './history-import.tsx';

type Job = Schema<'ExportJob'>;

/** Interval at which unfinished exports are read again. */
const refreshMs = 1000;

async function load(appId: string) {
  const { exports: jobs } = await answerOf(api.GET('/v1/x/exports', { params: { header: headerFor(appId) } }));
  const ids = jobs.flatMap(({ vehicleId }) => vehicleId ?? []);
  const vehicles = await nameVehicles(appId || undefined, [...new Set(ids)]);
  return { jobs, plates: new Map(vehicles.map(({ id, plate }) => [id, plate])) };
}

const isUnfinished = ({ state }: Job): boolean => state === 'QUEUED' || state === 'RUNNING';

function Progress({ job }: { job: Job }) {
  const { exports: text, labelled } = texts.value;
  const { state, progress, rows, bytes, reason, expiresAt } = job;
  if (state === 'FAILED') return <p class="notice wrong">{labelled(text.states.FAILED, reason ?? '')}</p>;
  const amount = `${text.rows(rows)} · ${formatBytes(bytes)}`;
  const kept = expiresAt === undefined ? '' : ` · ${text.keptUntil(formatTime(expiresAt))}`;
  if (state === 'DONE') return <p class="muted">{`${text.states.DONE} · ${amount}${kept}`}</p>;
  const percent = formatPercent(Math.floor(progress * 100));
  return (
    <p class="muted">
      <progress value={progress} aria-label={text.states[state]} /> {`${text.states[state]} · ${percent} · ${amount}`}
    </p>
  );
}

interface JobOptions {
  readonly job: Job;
  readonly appId: string;
  readonly plate: string | undefined;
  readonly onDeleted: () => void;
}

function JobLine({ job, appId, plate, onDeleted }: JobOptions) {
  const { exports: text } = texts.value;
  const action = useAction();
  const { id, of, format, from, until, state } = job;
  const title = [plate ?? text.all, text.subjects[of], text.formats[format]].join(' · ');
  const remove = async () => {
    await answerOf(api.DELETE('/v1/x/exports/{id}', { params: { path: { id }, header: headerFor(appId) } }));
    onDeleted();
  };
  const file = `/v1/x/exports/${id}/file${isOperator() ? `?appId=${encodeURIComponent(appId)}` : ''}`;
  return (
    <li>
      <div class="stack">
        <strong>{title}</strong>
        <p class="muted">{`${formatFull(from)} – ${formatFull(until)}`}</p>
        <Progress job={job} />
        {action.failure && <p class="notice wrong">{action.failure}</p>}
      </div>
      <div class="row start">
        {state === 'DONE' && (
          <a class="button primary" href={file} download data-load aria-label={`${text.download}: ${title}`}>
            {text.download}
          </a>
        )}
        {mayChange() && (
          <Button
            aria-label={`${text.remove}: ${title}`}
            disabled={action.isRunning}
            onClick={() => void action.run(remove)}
          >
            {text.remove}
          </Button>
        )}
      </div>
    </li>
  );
}

function ExportList({ appId }: { appId: string }) {
  const { exports: text } = texts.value;
  const { data, failure, isLoading, reload } = useLoad(() => load(appId), [appId]);
  const isWaiting = data?.jobs.some(isUnfinished) === true && !isLoading;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setTimeout(reload, refreshMs);
    return () => clearTimeout(timer);
  }, [isWaiting, data]);
  if (!data) return failure ? <LoadFailure message={failure} retry={reload} /> : <Loading />;
  return (
    <>
      {mayChange() && <ExportForm appId={appId} onCreated={reload} />}
      <h2>{text.list}</h2>
      {failure && <p class="notice late">{failure}</p>}
      {data.jobs.length === 0 ? (
        <Empty title={text.none}>{<p>{text.noneText}</p>}</Empty>
      ) : (
        <ul class="card export-list" aria-label={text.list}>
          {data.jobs.map((job) => (
            <JobLine
              key={job.id}
              job={job}
              appId={appId}
              plate={job.vehicleId && (data.plates.get(job.vehicleId) ?? job.vehicleId)}
              onDeleted={reload}
            />
          ))}
        </ul>
      )}
    </>
  );
}

/** Creates, follows, downloads and deletes exports; operators also import history. */
export function ExportsScreen() {
  const { exports: text, history } = texts.value;
  const exports = {
    id: 'files',
    name: text.title,
    content: (appId: string) => <ExportList key={appId} appId={appId} />,
  };
  const imports = {
    id: 'imports',
    name: history.title,
    content: (appId: string) => <HistoryImport key={appId} appId={appId} />,
  };
  return (
    <ApplicationPage
      name="exports"
      title={text.title}
      label={text.title}
      tabs={hasRole('operator') ? [exports, imports] : [exports]}
    />
  );
}
