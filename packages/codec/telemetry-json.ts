import { isUtf8 } from 'node:buffer';
import { maximumReadingsPerUpload, TelemetryReading } from '@odograph/contracts/telemetry';
import { Compile } from 'typebox/compile';

/** Why an upload, or one reading of it, cannot be used. `index` is the reading's place, null for the upload as a whole. */
export interface UploadFault {
  index: number | null;
  reason: 'NOT_UTF8' | 'NOT_JSON' | 'NOT_A_READING' | 'TOO_MANY_READINGS' | 'INVALID_FIELD';
  /** Path of the field at fault, dots between its parts. */
  field?: string;
  message: string;
}

export interface DecodedReading {
  index: number;
  /** Device time in microseconds since the UNIX epoch. */
  timeMicroseconds: number;
  reading: TelemetryReading;
}

export interface DecodedTelemetry {
  readings: DecodedReading[];
  faults: UploadFault[];
}

const readingCheck = Compile(TelemetryReading);

/**
 * Decodes a telemetry upload in JSON: one reading or an array of them (docs/device-protocol.md, "Telemetry").
 * Never throws: a reading that cannot be used becomes a fault and leaves its neighbours alone.
 */
export function decodeTelemetry(payload: Buffer | string): DecodedTelemetry {
  if (typeof payload !== 'string' && !isUtf8(payload)) {
    return spoiled({ index: null, reason: 'NOT_UTF8', message: 'the upload is not UTF-8' });
  }
  let value: unknown;
  try {
    value = JSON.parse(typeof payload === 'string' ? payload : payload.toString('utf8'));
  } catch {
    return spoiled({ index: null, reason: 'NOT_JSON', message: 'the upload is not JSON' });
  }
  if (!Array.isArray(value)) return decodeReadings([value]);
  if (value.length <= maximumReadingsPerUpload) return decodeReadings(value);
  const message = `an upload holds at most ${maximumReadingsPerUpload} readings, this one ${value.length}`;
  return spoiled({ index: null, reason: 'TOO_MANY_READINGS', message });
}

function spoiled(fault: UploadFault): DecodedTelemetry {
  return { readings: [], faults: [fault] };
}

function decodeReadings(values: readonly unknown[]): DecodedTelemetry {
  const decoded: DecodedTelemetry = { readings: [], faults: [] };
  for (const [index, value] of values.entries()) {
    if (readingCheck.Check(value)) {
      decoded.readings.push({ index, timeMicroseconds: Math.round(value.timestamp * 1e6), reading: value });
    } else {
      decoded.faults.push(describeFault(index, value));
    }
  }
  return decoded;
}

/** Names the field without repeating its value: a fault is logged and shown, a coordinate must not be. */
function describeFault(index: number, value: unknown): UploadFault {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { index, reason: 'NOT_A_READING', message: 'a reading is an object' };
  }
  const error = readingCheck.Errors(value)[0];
  if (!error) return { index, reason: 'INVALID_FIELD', message: 'a field is malformed' };
  const missing = 'requiredProperties' in error.params ? error.params.requiredProperties : [];
  const path = error.instancePath.split('/').slice(1).concat(missing.slice(0, 1)).join('.');
  return {
    index,
    reason: 'INVALID_FIELD',
    field: path.slice(0, 200),
    message: `${path.slice(0, 200)} ${error.message}`,
  };
}
