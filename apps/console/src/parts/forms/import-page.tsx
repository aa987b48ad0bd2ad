import './import-page.css';
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { CallFailure, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';
import { SaveButton } from '../layout/copy.tsx';
import { Heading } from '../layout/placeholders.tsx';

/** The verdict of the platform on a file. */
interface Outcome {
  readonly lines: number;
  readonly faults: readonly Schema<'CsvFault'>[];
}

interface ImportTexts {
  /** Explains the file. */
  readonly text: string;
  readonly writing: string;
  readonly sound: (name: string, count: number) => string;
  /** The label of the button. */
  readonly create: (count: number) => string;
}

interface ImportOptions<Answer extends Outcome> {
  readonly back: { readonly href: string; readonly text: string };
  readonly title: string;
  /** The name of the template. */
  readonly file: string;
  readonly columns: readonly string[];
  readonly text: ImportTexts;
  /** Fields above the file. */
  readonly children?: ComponentChildren;
  readonly send: (csv: string, check: boolean) => Promise<Answer>;
  /** @returns the content that replaces the form once the file is written */
  readonly onWritten: (answer: Answer) => Promise<ComponentChildren>;
}

/** A chosen file, and the verdict of the platform on it. */
interface CheckedFile {
  readonly name: string;
  readonly csv: string;
  readonly outcome: Outcome;
}

/** Reads a file. @throws CallFailure for another encoding than UTF-8: its letters would be saved as "\ufffd" */
async function readText(file: File): Promise<string> {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CallFailure('NOT_TEXT', texts.value.imports.notUtf8(file.name));
  }
}

/** A table of the faults of a file, by line. */
export function FaultTable({ faults }: { faults: readonly { line: number; column: string; message: string }[] }) {
  const { imports: text } = texts.value;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: makes it scrollable by keyboard
    <section class="card table-frame" tabIndex={0} aria-label={text.faultList}>
      <table class="table">
        <thead>
          <tr>
            <th scope="col" class="number">
              {text.line}
            </th>
            <th scope="col">{text.column}</th>
            <th scope="col">{text.fault}</th>
          </tr>
        </thead>
        <tbody>
          {faults.map(({ line, column, message }, index) => (
            <tr key={index}>
              <td class="number">{line}</td>
              <td>
                <code>{column}</code>
              </td>
              <td class="wraps">{message}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface ChoiceOptions extends Pick<ImportOptions<Outcome>, 'file' | 'columns' | 'text' | 'children'> {
  readonly checked: CheckedFile | undefined;
  readonly action: ReturnType<typeof useAction>;
  readonly onChoose: (file: File) => void;
  readonly onWrite: (file: CheckedFile) => void;
}

/** Chooses a file, and writes it if the platform finds no fault in it. */
function FileChoice({ file, columns, text, children, checked, action, onChoose, onWrite }: ChoiceOptions) {
  const { imports } = texts.value;
  const sound = checked?.outcome.faults.length === 0 ? checked : undefined;
  const header = columns.join(',');
  return (
    <section class="card form">
      <p>{text.text}</p>
      <code class="csv-columns">{header}</code>
      <div class="row start">
        <SaveButton name={file} type="text/csv" content={`${header}\n`} title={imports.template} />
      </div>
      {children}
      <label class="field">
        <span>{imports.file}</span>
        <input
          class="input file"
          type="file"
          accept=".csv,text/csv,text/plain"
          onChange={({ currentTarget }) => {
            const [chosen] = currentTarget.files ?? [];
            if (chosen) onChoose(chosen);
            // Allows the same file to be chosen again after a correction.
            currentTarget.value = '';
          }}
        />
      </label>
      <div role="status">
        {action.isRunning && (
          <p class="working">
            <span class="spinner" />
            {checked ? text.writing : imports.checking}
          </p>
        )}
        {sound && !action.isRunning && <p class="notice good">{text.sound(sound.name, sound.outcome.lines)}</p>}
      </div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      {sound && (
        <div class="row">
          <Button kind="primary" disabled={action.isRunning} onClick={() => onWrite(sound)}>
            {text.create(sound.outcome.lines)}
          </Button>
        </div>
      )}
    </section>
  );
}

/** Creates many vehicles or devices from a CSV file, which is checked as a whole, then written as a whole. */
export function ImportPage<Answer extends Outcome>(options: ImportOptions<Answer>) {
  const { back, title, send, onWritten } = options;
  const { imports } = texts.value;
  const file = useSignal<CheckedFile | undefined>(undefined);
  const written = useSignal<ComponentChildren>(undefined);
  const action = useAction();
  const check = (chosen: File) =>
    action.run(async () => {
      file.value = undefined;
      const csv = await readText(chosen);
      file.value = { name: chosen.name, csv, outcome: await send(csv, true) };
    });
  const write = ({ name, csv }: CheckedFile) =>
    action.run(async () => {
      const outcome = await send(csv, false);
      if (outcome.faults.length > 0) file.value = { name, csv, outcome };
      else written.value = await onWritten(outcome);
    });
  return (
    <div class="page form-page">
      <a href={back.href}>{back.text}</a>
      <Heading text={title} />
      {written.value ?? (
        <>
          <FileChoice
            {...options}
            checked={file.value}
            action={action}
            onChoose={(chosen) => void check(chosen)}
            onWrite={(checked) => void write(checked)}
          />
          {file.value && file.value.outcome.faults.length > 0 && (
            <>
              <p class="notice wrong" role="alert">
                {imports.faults(file.value.outcome.faults.length, file.value.outcome.lines)}
              </p>
              <FaultTable faults={file.value.outcome.faults} />
            </>
          )}
        </>
      )}
    </div>
  );
}
