import type { SourceFormatName } from '@odograph/contracts/sources';
import { maximumReadingsPerUpload } from '@odograph/contracts/telemetry';
import { flespi } from './flespi/flespi.ts';
import { osmand } from './osmand/osmand.ts';
import { owntracks } from './owntracks/owntracks.ts';
import { checkReadings, type DecodedTelemetry, spoiled } from './readings.ts';
import { isTooDeep, type SourceFormat } from './source-format.ts';
import { tesla } from './tesla/tesla.ts';
import { traccar } from './traccar/traccar.ts';

/** The formats in which other systems forward what their devices said, by name. */
export const sourceFormats: Readonly<Record<SourceFormatName, SourceFormat>> = {
  ...{ traccar, flespi, tesla, owntracks, osmand },
};

/** Decodes the messages of one device, as a JSON array. Never throws: an invalid message becomes a fault. */
export function decodeMessages(format: SourceFormatName, payload: string): DecodedTelemetry {
  let messages: unknown;
  try {
    messages = JSON.parse(payload);
  } catch {
    return spoiled({ index: null, reason: 'NOT_JSON', message: 'the upload is not JSON' });
  }
  if (!Array.isArray(messages)) {
    return spoiled({ index: null, reason: 'MALFORMED', message: 'the upload is not an array of messages' });
  }
  if (messages.length > maximumReadingsPerUpload) {
    const message = `an upload must have at most ${maximumReadingsPerUpload} messages; this one has ${messages.length}`;
    return spoiled({ index: null, reason: 'TOO_MANY_READINGS', message });
  }
  if (isTooDeep(messages)) {
    return spoiled({ index: null, reason: 'MALFORMED', message: 'the messages are nested too deeply' });
  }
  const { toReading } = sourceFormats[format];
  return checkReadings(messages.map((message: unknown) => (isObject(message) ? toReading(message) : message)));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
