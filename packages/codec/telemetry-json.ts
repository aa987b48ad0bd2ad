import { isUtf8 } from 'node:buffer';
import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import {
  latestTimestamp,
  maximumReadingBytes,
  maximumReadingsPerUpload,
  TelemetryReading,
} from '@odograph/contracts/telemetry';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import { Compile } from 'typebox/compile';

/** Why an upload or one of its readings is invalid. `index` is the position of the reading; null: the whole upload. */
export interface UploadFault {
  index: number | null;
  reason: 'NOT_UTF8' | 'NOT_JSON' | 'NOT_A_READING' | 'TOO_MANY_READINGS' | 'INVALID_FIELD' | 'TOO_LARGE';
  /** Path of the invalid field, separated by dots. */
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

const beyondCalendar = 'timestamp must be in UNIX seconds, and lies beyond the year 9999: is it in milliseconds?';
const readingCheck = Compile(TelemetryReading);

/**
 * Decodes a telemetry upload in JSON: one reading or an array of them (docs/device-protocol.md, "Telemetry").
 * Never throws: an invalid reading becomes a fault and does not affect the others.
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
  const message = `an upload must have at most ${maximumReadingsPerUpload} readings; this one has ${value.length}`;
  return spoiled({ index: null, reason: 'TOO_MANY_READINGS', message });
}

function spoiled(fault: UploadFault): DecodedTelemetry {
  return { readings: [], faults: [fault] };
}

function decodeReadings(values: readonly unknown[]): DecodedTelemetry {
  const decoded: DecodedTelemetry = { readings: [], faults: [] };
  for (const [index, value] of values.entries()) {
    if (!readingCheck.Check(value)) {
      decoded.faults.push(describeFault(index, value));
      continue;
    }
    const fault = sizeFault(index, value) ?? chargingUntilFault(index, value);
    if (fault) decoded.faults.push(fault);
    else decoded.readings.push({ index, timeMicroseconds: Math.round(value.timestamp * 1e6), reading: value });
  }
  return decoded;
}

const jsonBytes = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

function sizeFault(index: number, { can, sensors }: TelemetryReading): UploadFault | undefined {
  if (can === undefined && sensors === undefined) return undefined;
  const bytes = jsonBytes(can) + jsonBytes(sensors);
  if (bytes <= maximumReadingBytes) return undefined;
  const message = `can and sensors of a reading must have at most ${maximumReadingBytes} bytes as JSON; these have ${bytes}`;
  return { index, reason: 'TOO_LARGE', message };
}

/** 0 and an empty text mean unknown; anything else must be a timestamp (interface specification, "Fleet vehicle status"). */
function chargingUntilFault(index: number, { fleet }: TelemetryReading): UploadFault | undefined {
  const value = fleet?.ChargingUntil;
  const field = 'fleet.ChargingUntil';
  if (value === undefined || value === 0 || value === '') return undefined;
  try {
    parseTimestamp(field, String(value));
    return undefined;
  } catch (error) {
    return { index, reason: 'INVALID_FIELD', field, message: error instanceof Error ? error.message : String(error) };
  }
}

/** Names the field but not its value: faults are logged and shown, coordinates must not be. */
function describeFault(index: number, value: unknown): UploadFault {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { index, reason: 'NOT_A_READING', message: 'a reading must be an object' };
  }
  const { field: path, rule } = describeSchemaFaults(readingCheck.Errors(value));
  const field = path.slice(0, 200);
  const timestamp = 'timestamp' in value && typeof value.timestamp === 'number' ? value.timestamp : 0;
  const message = field === 'timestamp' && timestamp > latestTimestamp ? beyondCalendar : `${field} ${rule}`;
  return { index, reason: 'INVALID_FIELD', field, message };
}
