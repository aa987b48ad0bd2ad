import { type Signal, useSignal } from '@preact/signals';
import type { Schema } from '../../api/client.ts';
import {
  AppCode,
  osmandRows,
  owntracksLink,
  type PhoneConnection,
  PlatformField,
  traccarClientLink,
  withoutSlash,
} from '../../parts/devices/phone-settings.tsx';
import { Field } from '../../parts/forms/fields.tsx';
import { Button } from '../../parts/layout/button.tsx';
import { CopyButton, CopyRows } from '../../parts/layout/copy.tsx';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';

export type SourceFormat = Schema<'ListedSource'>['format'];

/** A source whose settings are shown. */
export interface ShownSource {
  readonly sourceId: string;
  readonly format: SourceFormat;
  readonly createDevices: boolean;
  /** Known only just after its creation. */
  readonly secret?: string;
}

interface Connection extends PhoneConnection {
  readonly sourceId: string;
}

const deviceIdForm = /^[A-Za-z0-9._:-]+$/;
const maxIdLength = 64;
/** Maximum length of an identifier after the appId, in the id of a device that a source creates. */
const maxCreatedLength = 43;

/** Writes the settings of traccar.xml (docs/devices/traccar.md). */
function traccarXml({ platform, secret }: Connection): string {
  const entries = [
    ['forward.type', 'json'],
    ['forward.url', `${platform}/in/traccar`],
    ['forward.header', `Authorization: Bearer ${secret}`],
    ['forward.retry.enable', 'true'],
    ['forward.retry.count', '12'],
    ['forward.retry.limit', '100000'],
    ['event.forward.url', `${platform}/in/traccar`],
    ['event.forward.header', `Authorization: Bearer ${secret}`],
  ];
  return entries.map(([key, value]) => `<entry key='${key}'>${value}</entry>`).join('\n');
}

/** Writes the pipeline that forwards the records of fleet-telemetry (docs/devices/tesla.md). */
function teslaPipeline({ platform, secret }: Connection): string {
  return `input:
  kafka_franz: { seed_brokers: ["kafka:9092"], topics: ["tesla_V"], consumer_group: odograph }
output:
  http_client:
    url: ${platform}/in/tesla
    verb: POST
    headers: { Authorization: "Bearer ${secret}", Content-Type: application/x-protobuf }
    max_in_flight: 8
    retry_period: 1s
    max_retry_backoff: 60s
    retries: 1000000`;
}

/** The HTTP mode of OwnTracks (https://owntracks.org/booklet/tech/json/, "_type=configuration"). */
const owntracksHttp = 3;

/** Returns the address that configures an app. */
function linkOf(format: 'owntracks' | 'osmand', connection: Connection): string {
  const { platform, sourceId, secret, deviceId } = connection;
  if (format === 'osmand') return traccarClientLink(connection);
  const account = { auth: true, usePassword: true, username: sourceId, password: secret, deviceId };
  return owntracksLink({ mode: owntracksHttp, url: `${platform}/in/owntracks`, ...account });
}

function rowsOf(format: SourceFormat, connection: Connection): readonly (readonly [name: string, value: string])[] {
  const { fields } = texts.value.sources;
  const { platform, sourceId, secret, deviceId } = connection;
  if (format === 'flespi') {
    return [
      [fields.protocol, 'http'],
      [fields.uri, `${platform}/in/flespi`],
      [fields.header, `Authorization: Bearer ${secret}`],
      [fields.batch, '1000'],
    ];
  }
  if (format === 'owntracks') {
    return [
      [fields.mode, 'HTTP'],
      [fields.url, `${platform}/in/owntracks`],
      [fields.username, sourceId],
      [fields.password, secret],
      [fields.deviceId, deviceId],
    ];
  }
  return format === 'osmand' ? osmandRows(connection) : [];
}

function File({ label, text }: { label: string; text: string }) {
  return (
    <div class="field">
      <span>{label}</span>
      <pre class="snippet">{text}</pre>
      <div>
        <CopyButton text={text} label={label} />
      </div>
    </div>
  );
}

/** Says to which devices the messages belong. */
function DeviceNote({ appId, source, deviceId }: { appId: string; source: ShownSource; deviceId: string }) {
  const { sources: text } = texts.value;
  const example = source.format === 'traccar' || source.format === 'flespi' ? 'IDENTIFIER' : deviceId;
  return source.createDevices ? (
    <p>
      {text.created(`${appId}:${source.format === 'tesla' ? 'VIN' : example}`)}{' '}
      <a href="/devices">{text.createdLink}</a>
    </p>
  ) : (
    <p>
      {text.existing(source.format)} <a href="/devices?add=one">{text.existingLink}</a>
    </p>
  );
}

/** A field for the device id of a phone. */
function PhoneField({ deviceId, maxLength }: { deviceId: Signal<string>; maxLength: number }) {
  const { sources: text } = texts.value;
  const isValid = deviceIdForm.test(deviceId.value.trim());
  return (
    <Field label={text.phone} hint={text.phoneHint} error={isValid ? undefined : text.phoneFault}>
      {(input) => (
        <input
          {...input}
          class="input"
          autocomplete="off"
          maxLength={maxLength}
          value={deviceId.value}
          onInput={({ currentTarget }) => assign(deviceId, currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface SourceSetupOptions {
  readonly appId: string;
  readonly source: ShownSource;
  readonly onClose: () => void;
}

/** The address and the settings to paste into another system, or to scan with an app. */
export function SourceSetup({ appId, source, onClose }: SourceSetupOptions) {
  const { sources: text, integrations, shownOnce } = texts.value;
  const platform = useSignal(location.origin);
  const deviceId = useSignal('phone-1');
  const { format, sourceId, secret } = source;
  const isPhone = format === 'owntracks' || format === 'osmand';
  const connection = {
    ...{ platform: withoutSlash(platform.value), sourceId },
    ...{ secret: secret ?? 'SECRET', deviceId: deviceId.value.trim() },
  };
  const rows = rowsOf(format, connection);
  const title = text.setup(text.formats[format]);
  return (
    <section class="card form" aria-label={title}>
      <h2>{title}</h2>
      {secret === undefined ? (
        <p class="notice">{text.noSecret}</p>
      ) : (
        <>
          <p class="notice late">{shownOnce}</p>
          <CopyRows rows={[[integrations.secret, secret]]} />
        </>
      )}
      <PlatformField platform={platform} />
      {isPhone && <PhoneField deviceId={deviceId} maxLength={source.createDevices ? maxCreatedLength : maxIdLength} />}
      {rows.length > 0 && <CopyRows rows={rows} />}
      {format === 'traccar' && <File label={text.files.traccar} text={traccarXml(connection)} />}
      {format === 'tesla' && <File label={text.files.tesla} text={teslaPipeline(connection)} />}
      {isPhone && secret !== undefined && <AppCode format={format} link={linkOf(format, connection)} />}
      <DeviceNote appId={appId} source={source} deviceId={connection.deviceId} />
      <div class="row">
        <Button onClick={onClose}>{integrations.done}</Button>
      </div>
    </section>
  );
}
