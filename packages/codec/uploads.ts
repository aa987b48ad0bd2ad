import { type AvlFamily, avlFamilies } from '@odograph/contracts/device-models';
import { teltonikaFormat, type UploadFormat } from '@odograph/contracts/queues';
import type { SourceFormatName } from '@odograph/contracts/sources';
import { maximumReadingsPerUpload } from '@odograph/contracts/telemetry';
import { flespi } from './flespi/flespi.ts';
import { decodeTelemetry, readElements } from './native/telemetry.ts';
import { osmand } from './osmand/osmand.ts';
import { owntracks } from './owntracks/owntracks.ts';
import { checkReadings, type DecodedTelemetry, spoiled, type UploadFault } from './shared/readings.ts';
import { isRecord, isTooDeep, type SourceFormat } from './shared/source-format.ts';
import { decodeTeltonika, readRecords } from './teltonika/upload.ts';
import { tesla } from './tesla/tesla.ts';
import { traccar } from './traccar/traccar.ts';

/** The codec of each format in which other systems forward what their devices reported. */
export const sourceFormats: Readonly<Record<SourceFormatName, SourceFormat>> = {
  traccar,
  flespi,
  tesla,
  owntracks,
  osmand,
};

/** Reads the messages of one device, a JSON array, as readings. @returns why they cannot be read, or the readings, unchecked */
function convertMessages(format: SourceFormatName, payload: string): UploadFault | unknown[] {
  const fault = (reason: UploadFault['reason'], message: string): UploadFault => ({ index: null, reason, message });
  let messages: unknown;
  try {
    messages = JSON.parse(payload);
  } catch {
    return fault('NOT_JSON', 'the upload is not JSON');
  }
  if (!Array.isArray(messages)) return fault('MALFORMED', 'the upload is not an array of messages');
  if (messages.length > maximumReadingsPerUpload) {
    const message = `an upload must have at most ${maximumReadingsPerUpload} messages; this one has ${messages.length}`;
    return fault('TOO_MANY_READINGS', message);
  }
  if (isTooDeep(messages)) return fault('MALFORMED', 'the messages are nested too deeply');
  const { toReading } = sourceFormats[format];
  return messages.map((message: unknown) => (isRecord(message) ? toReading(message) : message));
}

/** Decodes the messages of one device, as a JSON array. Never throws: an invalid message becomes a fault. */
export function decodeMessages(format: SourceFormatName, payload: string): DecodedTelemetry {
  const readings = convertMessages(format, payload);
  return Array.isArray(readings) ? checkReadings(readings) : spoiled(readings);
}

/** Returns the readings of messages, unchecked; none when they cannot be read. */
export function readMessages(format: SourceFormatName, payload: string): unknown[] {
  const readings = convertMessages(format, payload);
  return Array.isArray(readings) ? readings : [];
}

type AvlFormat = ReturnType<typeof teltonikaFormat>;
const families = new Map<UploadFormat, AvlFamily>(avlFamilies.map((family) => [teltonikaFormat(family), family]));

function isAvlFormat(format: UploadFormat): format is AvlFormat {
  return format === 'teltonika' || families.has(format);
}

/**
 * Decodes an upload by its format. Never throws: what is invalid becomes a fault.
 * @param receivedAtMs the time of messages without a timestamp
 */
export function decodeUpload(format: UploadFormat, payload: Buffer | string, receivedAtMs: number): DecodedTelemetry {
  if (format === 'native') return decodeTelemetry(payload);
  if (isAvlFormat(format)) return decodeTeltonika(Buffer.from(payload), receivedAtMs, families.get(format));
  return decodeMessages(format, payload.toString());
}

/** Returns the readings of an upload as its format says them, unchecked; none of an upload that cannot be read. */
export function readUpload(format: UploadFormat, payload: Buffer | string, receivedAtMs: number): unknown[] {
  if (format === 'native') return readElements(payload);
  if (isAvlFormat(format)) return readRecords(Buffer.from(payload), receivedAtMs, families.get(format));
  return readMessages(format, payload.toString());
}
