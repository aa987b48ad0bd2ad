import { type AvlFamily, avlFamilies } from '@odograph/contracts/device-models';
import { teltonikaFormat, type UploadFormat } from '@odograph/contracts/queues';
import type { SourceFormatName } from '@odograph/contracts/sources';
import { flespi } from './flespi/flespi.ts';
import { readTelemetry } from './native/telemetry.ts';
import { osmand } from './osmand/osmand.ts';
import { owntracks } from './owntracks/owntracks.ts';
import {
  checkReadings,
  type DecodedTelemetry,
  type RawReadings,
  requireFewReadings,
  UnreadableUpload,
} from './shared/readings.ts';
import { isRecord, isTooDeep, type SourceFormat } from './shared/source-format.ts';
import { readTeltonika } from './teltonika/upload.ts';
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

/** Reads the messages of one device, a JSON array. @throws UnreadableUpload */
function readMessages(format: SourceFormatName, payload: string): unknown[] {
  let messages: unknown;
  try {
    messages = JSON.parse(payload);
  } catch {
    throw new UnreadableUpload('NOT_JSON', 'the upload is not JSON');
  }
  if (!Array.isArray(messages)) throw new UnreadableUpload('MALFORMED', 'the upload is not an array of messages');
  requireFewReadings(messages, 'messages');
  if (isTooDeep(messages)) throw new UnreadableUpload('MALFORMED', 'the messages are nested too deeply');
  const { toReading } = sourceFormats[format];
  return messages.map((message: unknown) => (isRecord(message) ? toReading(message) : message));
}

type AvlFormat = ReturnType<typeof teltonikaFormat>;
const families = new Map<UploadFormat, AvlFamily>(avlFamilies.map((family) => [teltonikaFormat(family), family]));

function isAvlFormat(format: UploadFormat): format is AvlFormat {
  return format === 'teltonika' || families.has(format);
}

function read(format: UploadFormat, payload: Buffer | string, receivedAtMs: number): RawReadings {
  if (format === 'native') return { readings: readTelemetry(payload) };
  if (isAvlFormat(format)) return readTeltonika(Buffer.from(payload), receivedAtMs, families.get(format));
  return { readings: readMessages(format, payload.toString()) };
}

/**
 * Decodes an upload by its format. Never throws: what is invalid becomes a fault.
 * @param receivedAtMs the time of messages without a timestamp
 */
export function decodeUpload(format: UploadFormat, payload: Buffer | string, receivedAtMs: number): DecodedTelemetry {
  try {
    const { readings, absentValues } = read(format, payload, receivedAtMs);
    return { ...checkReadings(readings), ...(absentValues && { absentValues }) };
  } catch (error) {
    if (error instanceof UnreadableUpload) return { readings: [], faults: [error.fault] };
    throw error;
  }
}

/** Returns the readings of an upload as its format says them, unchecked; none of an upload that cannot be read. */
export function readUpload(
  format: UploadFormat,
  payload: Buffer | string,
  receivedAtMs: number,
): RawReadings['readings'] {
  try {
    return read(format, payload, receivedAtMs).readings;
  } catch (error) {
    if (error instanceof UnreadableUpload) return [];
    throw error;
  }
}
