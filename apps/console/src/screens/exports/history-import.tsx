import { type ImportProgress, noProgress, type RowFault } from '@odograph/codec/files/send-rows';
import { UnreadableFile } from '@odograph/codec/files/text-rows';
import { quantityFields } from '@odograph/contracts/fields';
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { CallFailure, messageOf } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { Form, Labelled, readFields, SelectField } from '../../parts/forms/fields.tsx';
import { FaultTable } from '../../parts/forms/import-page.tsx';
import { readVehicle, VehicleField } from '../../parts/forms/vehicle-picker.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { csvOf, SaveButton } from '../../parts/layout/copy.tsx';
import { assign } from '../../signals.ts';
import { nameOfSeries } from '../../texts/fields.ts';
import { formatNumber, formatPercent } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type ChosenFile, findColumns, formatOf, runImport } from './import-run.ts';

const encodings = ['utf-8', 'windows-1252'];
/** Maximum numbers of faults on the page and in the CSV file. */
const shownFaults = 200;
const keptFaults = 10_000;

/** A chosen file with its columns. */
interface OpenedFile extends Pick<ChosenFile, 'file' | 'encoding'> {
  readonly unknown: readonly string[];
  readonly hasTime: boolean;
}

/** Reads the columns of a file. @throws CallFailure for a file that cannot be read */
async function openHistory(file: File, encoding: string): Promise<OpenedFile> {
  const { history: text } = texts.value;
  const format = formatOf(file);
  if (format === undefined) throw new CallFailure('INVALID_PARAMETER', text.unknownFormat);
  if (format !== 'csv') return { file, encoding, unknown: [], hasTime: true };
  try {
    return { file, encoding, ...(await findColumns(file, encoding)) };
  } catch (error) {
    throw new CallFailure('INVALID_PARAMETER', describeFault(error, file, encoding));
  }
}

function describeFault(error: unknown, file: File, encoding: string): string {
  if (!(error instanceof UnreadableFile)) return messageOf(error);
  return error.reason === 'NOT_TEXT' ? texts.value.history.notText(file.name, encoding) : error.message;
}

/** A running or ended import. */
interface Run {
  readonly progress: ImportProgress;
  readonly share: number;
  readonly faults: readonly RowFault[];
  readonly state: 'running' | 'stopped' | 'done';
  /** The reason why the platform currently accepts no requests. */
  readonly waiting?: string | undefined;
  /** The reason why it failed. */
  readonly failure?: string | undefined;
}

const newRun: Run = { progress: noProgress, share: 0, faults: [], state: 'running' };

interface Import {
  readonly chosen: ChosenFile;
  readonly appId: string;
  readonly vehicleId: string | undefined;
}

/** Runs an import; leaving the page stops it. */
function useImport() {
  const run = useSignal<Run | undefined>(undefined);
  const controller = useRef<AbortController>(undefined);
  const change = (changed: Partial<Run>) => assign(run, { ...(run.value ?? newRun), ...changed });
  const isRunning = run.value?.state === 'running';
  useEffect(() => {
    if (!isRunning) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isRunning]);
  useEffect(() => () => controller.current?.abort(), []);
  const start = async ({ chosen, appId, vehicleId }: Import) => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    const done = run.value?.progress ?? noProgress;
    change({ state: 'running', failure: undefined, waiting: undefined });
    try {
      await runImport({
        ...{ chosen, done, signal, targets: { appId, vehicleId, devices: new Map() } },
        onWaiting: (waiting) => change({ waiting }),
        onPart(progress, share, faults) {
          change({ progress, share, faults: [...(run.value?.faults ?? []), ...faults].slice(0, keptFaults) });
        },
      });
      change({ state: 'done', share: 1, waiting: undefined });
    } catch (error) {
      const failure = signal.aborted ? undefined : describeFault(error, chosen.file, chosen.encoding);
      change({ state: 'stopped', failure, waiting: undefined });
    }
  };
  return { run, start, stop: () => controller.current?.abort() };
}

/** Selects the field of each column that is not named after a field. */
function ColumnFields({ opened, fields }: { opened: OpenedFile; fields: Signal<ReadonlyMap<string, string>> }) {
  const { history: text } = texts.value;
  if (opened.unknown.length === 0) return null;
  const options = [
    ['', text.ignored] as const,
    ...([
      ['time', text.time],
      ['vehicle', text.vehicleId],
      ['device', text.deviceId],
    ] as const),
    ...Object.entries(quantityFields).map(
      ([name, { unit }]) => [name, [nameOfSeries(name), unit].filter(Boolean).join(', ')] as const,
    ),
  ];
  const map = (column: string, field: string) => {
    const next = new Map(fields.value);
    if (field === '') next.delete(column);
    else next.set(column, field);
    fields.value = next;
  };
  return (
    <fieldset class="plain column-fields">
      <legend>{text.columns}</legend>
      {opened.unknown.map((column) => (
        <SelectField
          key={column}
          label={column}
          value={fields.value.get(column) ?? ''}
          options={options}
          onChange={(field) => map(column, field)}
        />
      ))}
    </fieldset>
  );
}

/** The chosen file with its columns, read again when the encoding changes. */
function useOpened() {
  const action = useAction();
  const opened = useSignal<OpenedFile | undefined>(undefined);
  const encoding = useSignal('utf-8');
  const fields = useSignal<ReadonlyMap<string, string>>(new Map());
  const input = useRef<HTMLInputElement>(null);
  const open = () => {
    const [file] = input.current?.files ?? [];
    if (!file) return;
    opened.value = undefined;
    fields.value = new Map();
    void action.run(async () => {
      opened.value = await openHistory(file, encoding.value);
    });
  };
  return { action, opened, encoding, fields, input, open };
}

function FileFields({ opened, encoding, fields, input, open }: Omit<ReturnType<typeof useOpened>, 'action'>) {
  const { history: text } = texts.value;
  const accept = '.csv,.txt,.ndjson,.jsonl,.gpx';
  return (
    <>
      <Labelled label={text.file} hint={text.fileHint}>
        <input ref={input} class="input file" type="file" accept={accept} required onChange={open} />
      </Labelled>
      <SelectField
        label={text.encoding}
        value={encoding.value}
        options={encodings.map((one) => [one, one])}
        onChange={(one) => {
          encoding.value = one;
          open();
        }}
      />
      {opened.value && <ColumnFields opened={opened.value} fields={fields} />}
    </>
  );
}

function ImportForm({ appId, onStart }: { appId: string; onStart: (started: Import) => void }) {
  const { history: text, noSuchVehicle } = texts.value;
  const { action, ...file } = useOpened();
  const chosen = file.opened.value;
  const fields = file.fields.value;
  const hasTime = chosen?.hasTime === true || [...fields.values()].includes('time');
  const submit = (form: HTMLFormElement) => {
    if (!chosen) return;
    void action.run(async () => {
      const written = readFields(form)['vehicle'] ?? '';
      const vehicleId = await readVehicle(written, appId);
      if (vehicleId === undefined && written.trim() !== '') throw new CallFailure('UNKNOWN_VEHICLE', noSuchVehicle);
      onStart({ chosen: { ...chosen, fields }, appId, vehicleId });
    });
  };
  return (
    <Form class="card form" aria-label={text.title} onSubmit={submit}>
      <p>{text.text}</p>
      <p class="muted">
        {text.dumps} <code>npx odograph import FILE</code>
      </p>
      <FileFields {...file} />
      <VehicleField label={text.vehicle} name="vehicle" appId={appId} hint={text.vehicleHint} />
      {chosen && !hasTime && <p class="notice late">{text.noTime}</p>}
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      <div class="row start">
        <Button type="submit" kind="primary" disabled={action.isRunning || !chosen || !hasTime}>
          {text.start}
        </Button>
      </div>
    </Form>
  );
}

function Faults({ name, run: { progress, faults } }: { name: string; run: Run }) {
  const { history: text } = texts.value;
  if (faults.length === 0) return null;
  const shown = faults.slice(0, shownFaults);
  const lines = faults.map(({ line, column, message }) => [String(line), column, message]);
  return (
    <>
      <p class="notice late">{text.faults(shown.length, progress.faults)}</p>
      <div class="row start">
        <SaveButton
          name={`${name}.faults.csv`}
          type="text/csv"
          content={csvOf([['line', 'column', 'fault'], ...lines])}
          title={text.saveFaults}
        />
      </div>
      <FaultTable faults={shown} />
    </>
  );
}

function RunState({ run }: { run: Run }) {
  const { history: text } = texts.value;
  const { rows, accepted, faults } = run.progress;
  return (
    <>
      <p>
        <progress value={run.share} aria-label={text.start} /> {formatPercent(Math.floor(run.share * 100))}
      </p>
      <p>{text.progress(formatNumber(rows), formatNumber(accepted), formatNumber(faults))}</p>
      <div role="status">
        {run.state === 'running' && <p class="muted">{text.running}</p>}
        {run.waiting !== undefined && <p class="notice late">{text.waiting(run.waiting)}</p>}
        {run.state === 'done' && <p class="notice good">{text.done}</p>}
        {run.state === 'stopped' && <p class="notice late">{text.stopped}</p>}
      </div>
      <div role="alert">{run.failure && <p class="notice wrong">{run.failure}</p>}</div>
    </>
  );
}

/** Imports history from a file of another system, with progress, faults by line, and a way to continue. */
export function HistoryImport({ appId }: { appId: string }) {
  const { history: text } = texts.value;
  const started = useSignal<Import | undefined>(undefined);
  const { run, start, stop } = useImport();
  const begin = (one: Import) => {
    started.value = one;
    void start(one);
  };
  const restart = () => {
    started.value = undefined;
    run.value = undefined;
  };
  if (!started.value || !run.value) return <ImportForm appId={appId} onStart={begin} />;
  const one = started.value;
  const { state } = run.value;
  return (
    <section class="stack" aria-label={text.title}>
      <div class="card form">
        <h2>{one.chosen.file.name}</h2>
        <RunState run={run.value} />
        <div class="row start">
          {state === 'running' && <Button onClick={stop}>{text.stop}</Button>}
          {state === 'stopped' && (
            <Button kind="primary" onClick={() => void start(one)}>
              {text.proceed}
            </Button>
          )}
          {state !== 'running' && <Button onClick={restart}>{text.other}</Button>}
        </div>
      </div>
      <Faults name={one.chosen.file.name} run={run.value} />
    </section>
  );
}
