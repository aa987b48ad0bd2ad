import type { ComponentChildren } from 'preact';
import { answerOf, api, type Schema } from '../../api/client.ts';
import {
  type DeviceAddresses,
  type DeviceModel,
  loadAddresses,
  loadModels,
  settingsOf,
  TeltonikaSettings,
} from '../../parts/devices/settings.tsx';
import { ImportPage } from '../../parts/forms/import-page.tsx';
import { csvOf, SaveButton } from '../../parts/layout/copy.tsx';
import { texts } from '../../texts/texts.ts';

type ImportedDevice = Schema<'ImportedDevice'>;

/** The devices of an import, with what their settings need. */
interface ImportResult {
  readonly devices: readonly ImportedDevice[];
  readonly models: readonly DeviceModel[];
  readonly addresses: DeviceAddresses;
}

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
        {text.importDone(devices.length)}
      </p>
      {mqtt.length > 0 && <Group title={text.importMqtt(mqtt.length)} file={mqttFile} />}
      {teltonika.length > 0 && (
        <TeltonikaSettings title={text.importTeltonika(teltonika.length)} urls={addresses.teltonika}>
          <SaveButton name="devices-teltonika.csv" type="text/csv" content={teltonikaFile} title={text.downloadImeis} />
        </TeltonikaSettings>
      )}
      {source.length > 0 && (
        <Group title={text.importSource(source.length)} file={['devices-passwords.csv', passwords]}>
          <p>{text.sourceText}</p>
        </Group>
      )}
    </>
  );
}

const columns = ['id', 'model', 'appId', 'vehicleId', 'plate', 'bluetoothName', 'bluetoothPin'];

/** Provisions many devices from a CSV file. */
export function DeviceImport() {
  const { devices: text } = texts.value;
  return (
    <ImportPage
      back={{ href: '/devices', text: text.back }}
      title={text.addMany}
      file="devices.csv"
      columns={columns}
      text={text.import}
      send={(csv, check) => answerOf(api.POST('/v1/x/admin/device-imports', { body: { csv, check } }))}
      onWritten={async ({ devices }) => {
        const [models, addresses] = await Promise.all([loadModels(), loadAddresses()]);
        return <CreatedDevices devices={devices} models={models} addresses={addresses} />;
      }}
    />
  );
}
