import { isUtf8 } from 'node:buffer';
import { requireFewReadings, UnreadableUpload } from '../shared/readings.ts';
import { decodeCbor, isCbor } from './cbor.ts';

function readValue(payload: Buffer | string): unknown {
  const isBinary = typeof payload !== 'string';
  if (isBinary && isCbor(payload)) {
    try {
      return decodeCbor(payload);
    } catch {
      throw new UnreadableUpload('NOT_CBOR', 'the upload is not CBOR without tags');
    }
  }
  if (isBinary && !isUtf8(payload)) throw new UnreadableUpload('NOT_UTF8', 'the upload is not UTF-8');
  try {
    return JSON.parse(payload.toString());
  } catch {
    throw new UnreadableUpload('NOT_JSON', 'the upload is not JSON');
  }
}

/**
 * Reads an upload of one reading or an array of them, in JSON or CBOR, which the first byte tells
 * (docs/device-protocol.md, "Upload readings").
 * @throws UnreadableUpload
 */
export function readTelemetry(payload: Buffer | string): readonly unknown[] {
  const value = readValue(payload);
  return Array.isArray(value) ? requireFewReadings<unknown>(value, 'readings') : [value];
}
