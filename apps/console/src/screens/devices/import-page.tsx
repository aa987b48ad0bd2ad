import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { useAction } from '../../api/use-action.ts';
import { Button } from '../../parts/layout/button.tsx';
import { SaveButton } from '../../parts/layout/copy.tsx';
import { Heading } from '../../parts/layout/placeholders.tsx';
import { formatNumber } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { type DeviceAddresses, type DeviceModel, loadAddresses, loadModels } from './device-data.ts';
import { settingsOf, TeltonikaSettings } from './settings.tsx';

type ImportedDevice = Schema<'ImportedDevice'>;

/** The devices of an import, with what their settings need. */
export interface ImportResult {
  readonly devices: readonly ImportedDevice[];
  readonly models: readonly DeviceModel[];
  readonly addresses: DeviceAddresses;
}

function cell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvOf = (rows: readonly (readonly string[])[]): string => rows.map((row) => row.map(cell).join(',')).join('\r\n');

/** Writes the settings of MQTT devices as a file for the people who install them. */
function credentialsFile(devices: readonly ImportedDevice[], url: string): string {
  const rows = devices.map((secrets) => {
    const { clientId, username, password, topic } = settingsOf(secrets, url);
    return [url, clientId, username, password, topic, secrets.claimCode ?? ''];
  });
  return csvOf([['url', 'clientId', 'username', 'password', 'topic', 'claimCode'], ...rows]);
}

/** Writes the ids of devices with one more column, and the claim codes of those in stock. */
function idsFile(
  devices: readonly ImportedDevice[],
  head: readonly string[],
  column: (device: ImportedDevice) => string[],
) {
  const rows = devices.map((device) => [device.deviceId, ...column(device), device.claimCode ?? '']);
  return csvOf([head, ...rows]);
}

interface GroupOptions {
  readonly title: string;
  /** The file to download, shown only once. */
  readonly file: readonly [name: string, content: string];
  readonly children?: ComponentChildren;
}

/** The devices that report in one way, with a file of their secrets. */
function Group({ title, file: [name, content], children }: GroupOptions) {
  const { devices: text } = texts.value;
  return (
    <section class="card form" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <p class="notice late">{text.importShownOnce}</p>
      <div class="row">
        <SaveButton name={name} type="text/csv" content={content} title={text.downloadCredentials} />
      </div>
    </section>
  );
}

/** Shows the settings of the devices that were created, by the way in which they report. */
function CreatedDevices({ devices, models, addresses }: ImportResult) {
  const { devices: text } = texts.value;
  const protocols = new Map(models.map(({ name, protocol }) => [name, protocol]));
  const reporting = (protocol: DeviceModel['protocol']) =>
    devices.filter(({ model }) => protocols.get(model) === protocol);
  const [mqtt, teltonika, source] = [reporting('mqtt'), reporting('teltonika'), reporting('source')];
  const mqttFile = ['devices-credentials.csv', credentialsFile(mqtt, addresses.urls[0] ?? '')] as const;
  const teltonikaFile = idsFile(teltonika, ['imei', 'claimCode'], () => []);
  const passwords = idsFile(source, ['deviceId', 'password', 'claimCode'], ({ secret }) => [secret]);
  return (
    <>
      <p class="notice good" role="status">
        {text.importDone(formatNumber(devices.length))}
      </p>
      {mqtt.length > 0 && <Group title={text.importMqtt(formatNumber(mqtt.length))} file={mqttFile} />}
      {teltonika.length > 0 && (
        <TeltonikaSettings title={text.importTeltonika(formatNumber(teltonika.length))} urls={addresses.teltonika}>
          <SaveButton name="devices-teltonika.csv" type="text/csv" content={teltonikaFile} title={text.downloadImeis} />
        </TeltonikaSettings>
      )}
      {source.length > 0 && (
        <Group title={text.importSource(formatNumber(source.length))} file={['devices-passwords.csv', passwords]}>
          <p>{text.sourceText}</p>
        </Group>
      )}
      <div class="row">
        <a class="button" href="/devices">
          {text.back}
        </a>
      </div>
    </>
  );
}

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
          <Button kind="primary" disabled={action.isRunning} onClick={() => onWrite(sound)}>
            {text.createMany(formatNumber(sound.outcome.lines))}
          </Button>
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
      <Heading text={text.addMany} />
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
