import { isUtf8 } from 'node:buffer';
import { maximumReadingsPerUpload } from '@odograph/contracts/telemetry';
import { checkReadings, type DecodedTelemetry, spoiled, type UploadFault } from '../shared/readings.ts';
import { decodeCbor, isCbor } from './cbor.ts';

/** An upload that cannot be read as a whole. */
class Unreadable extends Error {
  readonly fault: UploadFault;

  constructor(reason: UploadFault['reason'], message: string) {
    super(message);
    this.fault = { index: null, reason, message };
  }
}

/** Reads an upload as one value. @throws Unreadable */
function readValue(payload: Buffer | string): unknown {
  if (typeof payload !== 'string') {
    if (isCbor(payload)) return readCbor(payload);
    if (!isUtf8(payload)) throw new Unreadable('NOT_UTF8', 'the upload is not UTF-8');
  }
  try {
    return JSON.parse(payload.toString());
  } catch {
    throw new Unreadable('NOT_JSON', 'the upload is not JSON');
  }
}

function readCbor(payload: Buffer): unknown {
  try {
    return decodeCbor(payload);
  } catch {
    throw new Unreadable('NOT_CBOR', 'the upload is not CBOR without tags');
  }
}

/**
 * Decodes a telemetry upload: one reading or an array of them, in JSON or CBOR, which the first byte tells
 * (docs/device-protocol.md, "Upload readings"). Never throws: an invalid reading becomes a fault and does not affect the others.
 */
export function decodeTelemetry(payload: Buffer | string): DecodedTelemetry {
  let value: unknown;
  try {
    value = readValue(payload);
  } catch (error) {
    if (error instanceof Unreadable) return spoiled(error.fault);
    throw error;
  }
  if (!Array.isArray(value)) return checkReadings([value]);
  if (value.length <= maximumReadingsPerUpload) return checkReadings(value);
  const message = `an upload must have at most ${maximumReadingsPerUpload} readings; this one has ${value.length}`;
  return spoiled({ index: null, reason: 'TOO_MANY_READINGS', message });
}

/** Returns the readings of an upload as the device sent them, unchecked; none of an upload that cannot be read. */
export function readElements(payload: Buffer | string): unknown[] {
  try {
    const value = readValue(payload);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}
