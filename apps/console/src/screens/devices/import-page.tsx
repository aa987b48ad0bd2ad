import { useSignal } from '@preact/signals';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { SaveButton } from '../../parts/layout/copy.tsx';
import { formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { loadAddresses, loadModels } from './device-data.ts';
import { CreatedDevices, type ImportResult } from './import-result.tsx';

type Outcome = Schema<'DeviceImport'>;

const template = 'id,model,appId,vehicleId,plate,bluetoothName,bluetoothPin\n';

/** A file that a person chose, and what the platform found in it. */
interface CheckedFile {
  readonly name: string;
  readonly csv: string;
  readonly outcome: Outcome;
}

async function send(csv: string, check: boolean): Promise<Outcome> {
  return answerOf(api.POST('/v1/x/admin/device-imports', { body: { csv, check } }));
}

function Faults({ outcome }: { outcome: Outcome }) {
  const { devices: text } = texts.value;
  return (
    <>
      <p class="notice wrong" role="alert">
        {text.faults(formatNumber(outcome.faults.length), formatNumber(outcome.lines))}
      </p>
      <div class="card table-frame">
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
            {outcome.faults.map((fault) => (
              <tr key={`${fault.line} ${fault.column}`}>
                <td class="number">{fault.line}</td>
                <td>
                  <code>{fault.column}</code>
                </td>
                <td class="wraps">{fault.message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface ChoiceOptions {
  readonly file: CheckedFile | undefined;
  readonly action: ReturnType<typeof useAction>;
  readonly onChoose: (file: File) => void;
  readonly onWrite: (file: CheckedFile) => void;
}

/** Chooses a file, and writes it once the platform found no fault in it. */
function FileChoice({ file, action, onChoose, onWrite }: ChoiceOptions) {
  const { devices: text } = texts.value;
  const sound = file?.outcome.faults.length === 0 ? file : undefined;
  return (
    <section class="card form">
      <p>{text.importText}</p>
      <code class="csv-columns">{template.trim()}</code>
      <div class="row start">
        <SaveButton name="devices.csv" type="text/csv" content={template} title={text.template} />
      </div>
      <label class="field">
        <span>{text.file}</span>
        <input
          class="input file"
          type="file"
          accept=".csv,text/csv,text/plain"
          onChange={({ currentTarget }) => {
            const [chosen] = currentTarget.files ?? [];
            if (chosen) onChoose(chosen);
            // The same file can be chosen again after it was mended.
            currentTarget.value = '';
          }}
        />
      </label>
      <div role="status">
        {action.isRunning && (
          <p class="working">
            <span class="spinner" />
            {file ? text.writing : text.checking}
          </p>
        )}
        {sound && !action.isRunning && (
          <p class="notice good">{text.sound(sound.name, formatNumber(sound.outcome.lines))}</p>
        )}
      </div>
      <div role="alert">{action.failure && <p class="notice wrong">{action.failure}</p>}</div>
      {sound && (
        <div class="row">
          <button type="button" class="button primary" disabled={action.isRunning} onClick={() => onWrite(sound)}>
            {text.createMany(formatNumber(sound.outcome.lines))}
          </button>
        </div>
      )}
    </section>
  );
}

/** Provisions many devices from a CSV file: checked as a whole first, written as a whole. */
export function ImportPage() {
  const { devices: text } = texts.value;
  const file = useSignal<CheckedFile | undefined>(undefined);
  const created = useSignal<ImportResult | undefined>(undefined);
  const action = useAction();
  const check = (chosen: File) =>
    action.run(async () => {
      file.value = undefined;
      const csv = await chosen.text();
      file.value = { name: chosen.name, csv, outcome: await send(csv, true) };
    });
  const write = ({ name, csv }: CheckedFile) =>
    action.run(async () => {
      const [models, addresses] = await Promise.all([loadModels(), loadAddresses()]);
      const outcome = await send(csv, false);
      if (outcome.faults.length > 0) file.value = { name, csv, outcome };
      else created.value = { devices: outcome.devices, models, addresses };
    });
  return (
    <div class="page devices-form">
      <a href="/devices">{text.back}</a>
      <h1>{text.addMany}</h1>
      {created.value ? (
        <CreatedDevices {...created.value} />
      ) : (
        <>
          <FileChoice
            file={file.value}
            action={action}
            onChoose={(chosen) => void check(chosen)}
            onWrite={(checked) => void write(checked)}
          />
          {file.value && file.value.outcome.faults.length > 0 && <Faults outcome={file.value.outcome} />}
        </>
      )}
    </div>
  );
}
