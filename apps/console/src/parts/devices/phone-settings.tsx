import './settings.css';
import type { Signal } from '@preact/signals';
import { assign } from '../../signals.ts';
import { texts } from '../../texts/texts.ts';
import { Field } from '../forms/fields.tsx';
import { QrCode } from '../layout/qr-code.tsx';

/** The connection of a phone to the platform over HTTP. */
export interface PhoneConnection {
  /** The address of the platform, without a slash at the end. */
  readonly platform: string;
  readonly deviceId: string;
  /** The secret of the device or of a source. */
  readonly secret: string;
}

const phoneUrl = ({ platform, secret, deviceId }: PhoneConnection): string =>
  `${platform}/in/osmand/${encodeURIComponent(deviceId)}?secret=${secret}`;

/** Lists the addresses to enter in Traccar Client and OsmAnd (docs/devices/osmand.md). */
export function osmandRows(connection: PhoneConnection): readonly (readonly [name: string, value: string])[] {
  const { fields } = texts.value.sources;
  const query = '&lat={0}&lon={1}&timestamp={2}&accuracy={3}&altitude={4}&bearing={6}';
  return [
    [fields.traccarClient, phoneUrl(connection)],
    [fields.osmand, phoneUrl(connection) + query],
  ];
}

/**
 * Returns the address that Traccar Client scans. It uses the scheme of the app, with the server as a parameter, because
 * the app removes the query of an https address.
 */
export function traccarClientLink(connection: PhoneConnection): string {
  const query = new URLSearchParams({ url: phoneUrl(connection), id: connection.deviceId });
  return `org.traccar.client://config?${query}`;
}

/** Returns the address that configures OwnTracks (https://owntracks.org/booklet/features/remoteconfig/). */
export function owntracksLink(settings: Readonly<Record<string, string | number | boolean>>): string {
  const configuration = JSON.stringify({ _type: 'configuration', ...settings });
  return `owntracks:///config?inline=${encodeURIComponent(btoa(configuration))}`;
}

/** A QR code that configures an app; it contains the secret. */
export function AppCode({ format, link }: { format: 'owntracks' | 'osmand'; link: string }) {
  const { qrLabels, qrTexts } = texts.value.sources;
  return (
    <figure class="app-code">
      <QrCode text={link} label={qrLabels[format]} />
      <figcaption class="muted">{qrTexts[format]}</figcaption>
    </figure>
  );
}

/** Removes slashes at the end of an address. */
export const withoutSlash = (address: string): string => address.trim().replace(/\/+$/, '');

/** A field for the address of the platform, with a warning if it is not https. */
export function PlatformField({ platform }: { platform: Signal<string> }) {
  const { sources: text } = texts.value;
  return (
    <>
      <Field label={text.platform} hint={text.platformHint}>
        {(input) => (
          <input
            {...input}
            class="input"
            type="url"
            value={platform.value}
            onInput={({ currentTarget }) => assign(platform, currentTarget.value)}
          />
        )}
      </Field>
      {platform.value.trim().startsWith('http:') && <p class="notice late">{text.insecure}</p>}
    </>
  );
}
