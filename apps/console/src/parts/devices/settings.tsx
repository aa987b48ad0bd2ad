import './settings.css';
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { answerOf, api, type Schema } from '../../api/client.ts';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { SelectField } from '../forms/fields.tsx';
import { CopyButton, CopyRows, SaveButton } from '../layout/copy.tsx';
import { QrCode } from '../layout/qr-code.tsx';
import {
  AppCode,
  osmandRows,
  owntracksLink,
  PlatformField,
  traccarClientLink,
  withoutSlash,
} from './phone-settings.tsx';

export type DeviceSecrets = Schema<'NewDevice'>;
export type DeviceModel = Schema<'DeviceModel'>;
export type DeviceAddresses = Schema<'DeviceConnection'>;

/** Loads the device models. @throws CallFailure */
export async function loadModels(): Promise<readonly DeviceModel[]> {
  return (await answerOf(api.GET('/v1/x/admin/device-models'))).models;
}

/** Loads the addresses for devices. @throws CallFailure */
export function loadAddresses(): Promise<DeviceAddresses> {
  return answerOf(api.GET('/v1/x/admin/device-connection'));
}

/** The settings of a device (docs/device-protocol.md). */
export interface DeviceSettings {
  readonly url: string;
  readonly clientId: string;
  readonly username: string;
  readonly password: string;
  readonly topic: string;
}

/** Builds the settings of a device from its secret. @param url of the broker */
export function settingsOf({ deviceId, secret }: DeviceSecrets, url: string): DeviceSettings {
  return { url, clientId: deviceId, username: deviceId, password: secret, topic: `v1/devices/${deviceId}/telemetry` };
}

function brokerOf(url: string) {
  const { hostname, port, protocol } = new URL(url.replace(/^mqtt/, 'http'));
  const isTls = protocol === 'https:';
  return { host: hostname, port: port || (isTls ? '8883' : '1883'), isTls };
}

/** Builds a command that sends a reading from a terminal, as the device would. */
function commandOf({ url, clientId, username, password, topic }: DeviceSettings): string {
  const { host, port, isTls } = brokerOf(url);
  const broker = `-h ${host} -p ${port}${isTls ? ' --tls-use-os-certs' : ''}`;
  const reading = '{\\"timestamp\\": $(date +%s), \\"location\\": {\\"latitude\\": 48.8566, \\"longitude\\": 2.3522}}';
  return `mosquitto_pub ${broker} -q 1 -i ${clientId} -u ${username} -P ${password} -t ${topic} -m "${reading}"`;
}

function rowsOf(settings: DeviceSettings, secrets: DeviceSecrets): readonly (readonly [string, string])[] {
  const { fields } = texts.value.devices;
  const { host, port, isTls } = brokerOf(settings.url);
  return [
    [fields.host, host],
    [fields.port, port],
    [fields.tls, isTls ? texts.value.yes : texts.value.no],
    [fields.clientId, settings.clientId],
    [fields.username, settings.username],
    [fields.password, settings.password],
    [fields.topic, settings.topic],
    ...claimRow(secrets),
  ];
}

interface SettingsOptions {
  readonly secrets: DeviceSecrets;
  /** The first address is proposed. */
  readonly urls: readonly string[];
}

interface ChoiceOptions {
  readonly urls: readonly string[];
  readonly chosen: Signal<string>;
}

/** Chooses one of several addresses. */
function AddressChoice({ urls, chosen }: ChoiceOptions) {
  if (urls.length < 2) return null;
  return (
    <SelectField
      label={texts.value.devices.address}
      value={chosen.value}
      options={urls.map((url) => [url, url])}
      onChange={(url) => assign(chosen, url)}
    />
  );
}

const claimRow = ({ claimCode }: DeviceSecrets) =>
  claimCode === undefined ? [] : [[texts.value.devices.fields.claimCode, claimCode] as const];

interface TeltonikaOptions {
  readonly title: string;
  /** The only device; undefined for many, which share the address. */
  readonly secrets?: DeviceSecrets;
  /** The first address is proposed. */
  readonly urls: readonly string[];
  /** More buttons. */
  readonly children?: ComponentChildren;
}

/** The settings of Teltonika devices, which sign in with their IMEI. */
export function TeltonikaSettings({ title, secrets, urls, children }: TeltonikaOptions) {
  const { devices: text } = texts.value;
  const chosen = useSignal(urls[0] ?? '');
  const [, protocol = '', host = '', port = ''] = /^(\w+):\/\/(.+):(\d+)$/.exec(chosen.value) ?? [];
  const { fields } = text;
  const address = [
    [fields.host, host],
    [fields.port, port],
    [fields.protocol, protocol === 'udp' ? 'UDP' : 'TCP'],
    [fields.tls, protocol === 'tls' ? texts.value.yes : texts.value.no],
  ] as const;
  const device = secrets ? [[fields.imei, secrets.deviceId] as const, ...claimRow(secrets)] : [];
  const rows = [...(host === '' ? [] : address), ...device];
  return (
    <section class="card device-settings" aria-label={title}>
      {!secrets && <h2>{title}</h2>}
      <p>{text.teltonikaText}</p>
      {host === '' && <p class="notice late">{text.teltonikaClosed}</p>}
      <AddressChoice urls={urls} chosen={chosen} />
      {rows.length > 0 && <CopyRows rows={rows} />}
      <div class="row">
        {rows.length > 0 && (
          <CopyButton text={rows.map((row) => row.join(': ')).join('\n')} label={text.settings} title={text.copyAll} />
        )}
        {children}
      </div>
    </section>
  );
}

/** The settings of a device behind another system, which reports with the secret of a source. */
function SourceSettings({ secrets }: { secrets: DeviceSecrets }) {
  const { devices: text } = texts.value;
  const rows = [
    [text.columns.deviceId, secrets.deviceId] as const,
    [text.fields.password, secrets.secret] as const,
    ...claimRow(secrets),
  ];
  return (
    <section class="card device-settings" aria-label={text.settings}>
      <p>{text.sourceText}</p>
      <p class="notice late">{text.shownOnce}</p>
      <CopyRows rows={rows} />
    </section>
  );
}

/** The settings of Traccar Client and OsmAnd on a phone with its own secret. */
function OsmandSettings({ secrets }: { secrets: DeviceSecrets }) {
  const { devices: text } = texts.value;
  const platform = useSignal(location.origin);
  const { deviceId, secret } = secrets;
  const connection = { platform: withoutSlash(platform.value), deviceId, secret };
  return (
    <section class="card device-settings" aria-label={text.settings}>
      <p class="notice late">{text.shownOnce}</p>
      <PlatformField platform={platform} />
      <CopyRows rows={[...osmandRows(connection), ...claimRow(secrets)]} />
      <AppCode format="osmand" link={traccarClientLink(connection)} />
    </section>
  );
}

/** The MQTT mode of OwnTracks (https://owntracks.org/booklet/tech/json/, "_type=configuration"). */
const owntracksMqtt = 0;

/** The settings of OwnTracks on a phone with its own secret. With MQTT, the app keeps unacknowledged locations. */
function OwntracksSettings({ secrets, urls }: SettingsOptions) {
  const { devices: text, sources } = texts.value;
  const chosen = useSignal(urls[0] ?? '');
  const { deviceId, secret } = secrets;
  const { host, port, isTls } = brokerOf(chosen.value);
  const rows = [
    [sources.fields.mode, 'MQTT'] as const,
    ...rowsOf(settingsOf(secrets, chosen.value), secrets).filter(([name]) => name !== text.fields.topic),
  ];
  const account = { auth: true, usePassword: true, username: deviceId, password: secret, clientId: deviceId };
  const broker = { mode: owntracksMqtt, host, port: Number(port), tls: isTls };
  return (
    <section class="card device-settings" aria-label={text.settings}>
      <p class="notice late">{text.shownOnce}</p>
      <AddressChoice urls={urls} chosen={chosen} />
      <CopyRows rows={rows} />
      <AppCode format="owntracks" link={owntracksLink({ ...broker, ...account, deviceId })} />
    </section>
  );
}

/** The settings of a device with its secret, to copy, to save or to scan: the only time that the secret is shown. */
function MqttSettings({ secrets, urls }: SettingsOptions) {
  const { devices: text } = texts.value;
  const chosen = useSignal(urls[0] ?? '');
  const settings = settingsOf(secrets, chosen.value);
  const rows = rowsOf(settings, secrets);
  const json = JSON.stringify(settings);
  const command = commandOf(settings);
  return (
    <section class="card device-settings" aria-label={text.settings}>
      <p class="notice late">{text.shownOnce}</p>
      <AddressChoice urls={urls} chosen={chosen} />
      <div class="device-settings-body">
        <CopyRows rows={rows} />
        <figure>
          <QrCode text={json} label={text.qrLabel} />
          <figcaption class="muted">{text.qrText}</figcaption>
        </figure>
      </div>
      <div class="row">
        <CopyButton text={rows.map((row) => row.join(': ')).join('\n')} label={text.settings} title={text.copyAll} />
        <SaveButton name={`${secrets.deviceId}.json`} type="application/json" content={json} title={text.save} />
      </div>
      <p>{text.tryText}</p>
      <code class="device-command">{command}</code>
      <div class="row">
        <CopyButton text={command} label={text.command} />
      </div>
    </section>
  );
}

/** A device with a new secret. */
export interface CreatedDevice {
  readonly secrets: DeviceSecrets;
  readonly model: string;
  readonly protocol: DeviceModel['protocol'];
}

/** The settings of a device with a new secret, which depend on its model. */
export function NewSettings({ created, addresses }: { created: CreatedDevice; addresses: DeviceAddresses }) {
  const { secrets, model, protocol } = created;
  if (protocol === 'mqtt') return <MqttSettings secrets={secrets} urls={addresses.urls} />;
  if (model === 'owntracks') return <OwntracksSettings secrets={secrets} urls={addresses.urls} />;
  if (model === 'osmand') return <OsmandSettings secrets={secrets} />;
  if (protocol === 'source') return <SourceSettings secrets={secrets} />;
  return <TeltonikaSettings title={texts.value.devices.settings} secrets={secrets} urls={addresses.teltonika} />;
}
