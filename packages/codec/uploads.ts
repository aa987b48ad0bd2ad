import { type AvlFamily, avlFamilies } from '@odograph/contracts/device-models';
import { teltonikaFormat, type UploadFormat } from '@odograph/contracts/queues';
import { decodeTelemetry, readElements } from './native/telemetry.ts';
import type { DecodedTelemetry } from './readings.ts';
import { decodeMessages, readMessages } from './sources.ts';
import { decodeTeltonika, readRecords } from './teltonika/upload.ts';

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
