import type { UploadFormat } from '@odograph/contracts/queues';
import { decodeTelemetry, readElements } from './native/telemetry.ts';
import type { DecodedTelemetry } from './readings.ts';
import { decodeMessages, readMessages } from './sources.ts';
import { decodeTeltonika, readRecords } from './teltonika/upload.ts';

/**
 * Decodes an upload by its format. Never throws: what is invalid becomes a fault.
 * @param receivedAtMs the time of messages that have none of their own
 */
export function decodeUpload(format: UploadFormat, payload: Buffer | string, receivedAtMs: number): DecodedTelemetry {
  if (format === 'native') return decodeTelemetry(payload);
  if (format === 'teltonika') return decodeTeltonika(Buffer.from(payload), receivedAtMs);
  return decodeMessages(format, payload.toString());
}

/** Returns the readings of an upload as its format says them, unchecked; none of an upload that cannot be read. */
export function readUpload(format: UploadFormat, payload: Buffer | string, receivedAtMs: number): unknown[] {
  if (format === 'native') return readElements(payload);
  if (format === 'teltonika') return readRecords(Buffer.from(payload), receivedAtMs);
  return readMessages(format, payload.toString());
}
