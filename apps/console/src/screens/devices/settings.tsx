import { useSignal } from '@preact/signals';
import { CopyButton, SaveButton } from '../../parts/copy.tsx';
import { SelectField } from '../../parts/fields.tsx';
import { QrCode } from '../../parts/qr-code.tsx';
import { texts } from '../../texts/texts.ts';
import type { DeviceSecrets } from './device-data.ts';

/** What a device needs to connect (docs/device-protocol.md). */
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

function rowsOf(settings: DeviceSettings, claimCode: string | undefined): readonly (readonly [string, string])[] {
  const { fields } = texts.value.devices;
  const { hostname, port, protocol } = new URL(settings.url.replace(/^mqtt/, 'http'));
  return [
    [fields.host, hostname],
    [fields.port, port || (protocol === 'https:' ? '8883' : '1883')],
    [fields.tls, protocol === 'https:' ? texts.value.yes : texts.value.no],
    [fields.clientId, settings.clientId],
    [fields.username, settings.username],
    [fields.password, settings.password],
    [fields.topic, settings.topic],
    ...(claimCode === undefined ? [] : [[fields.claimCode, claimCode] as const]),
  ];
}

interface SettingsOptions {
  readonly secrets: DeviceSecrets;
  /** Addresses of the broker; the first one is proposed. */
  readonly urls: readonly string[];
}

/** The settings of a device with its secret, to copy, to save or to scan: the only time that the secret is shown. */
export function Settings({ secrets, urls }: SettingsOptions) {
  const { devices: text } = texts.value;
  const chosen = useSignal(urls[0] ?? '');
  const settings = settingsOf(secrets, chosen.value);
  const rows = rowsOf(settings, secrets.claimCode);
  const json = JSON.stringify(settings);
  return (
    <section class="card device-settings" aria-label={text.settings}>
      <p class="notice late">{text.shownOnce}</p>
      {urls.length > 1 && (
        <SelectField
          label={text.address}
          value={chosen.value}
          options={urls.map((url) => [url, url])}
          onChange={(url) => {
            chosen.value = url;
          }}
        />
      )}
      <div class="device-settings-body">
        <dl>
          {rows.map(([name, value]) => [
            <dt key={name}>{name}</dt>,
            <dd key={`${name} value`}>
              <code>{value}</code>
              <CopyButton text={value} label={name} />
            </dd>,
          ])}
        </dl>
        <figure>
          <QrCode text={json} label={text.qrLabel} />
          <figcaption class="muted">{text.qrText}</figcaption>
        </figure>
      </div>
      <div class="row">
        <CopyButton text={rows.map((row) => row.join(': ')).join('\n')} label={text.settings} title={text.copyAll} />
        <SaveButton name={`${secrets.deviceId}.json`} type="application/json" content={json} title={text.save} />
      </div>
    </section>
  );
}
