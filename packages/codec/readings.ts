import { describeSchemaFaults } from '@odograph/contracts/schema-faults';
import { latestTimestamp, maximumReadingBytes, TelemetryReading } from '@odograph/contracts/telemetry';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import { Compile } from 'typebox/compile';

/** Why an upload or one of its readings is invalid. `index` is the position of the reading; null: the whole upload. */
export interface UploadFault {
  index: number | null;
  reason:
    | 'NOT_UTF8'
    | 'NOT_JSON'
    | 'NOT_CBOR'
    | 'MALFORMED'
    | 'NOT_A_READING'
    | 'TOO_MANY_READINGS'
    | 'INVALID_FIELD'
    | 'TOO_LARGE';
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

/** Reports a fault of a whole upload. */
export function spoiled(fault: UploadFault): DecodedTelemetry {
  return { readings: [], faults: [fault] };
}

/**
 * Checks readings in the form of the platform's own uploads, whatever format they were decoded from. Undefined stands for a
 * message without a reading.
 */
export function checkReadings(values: readonly unknown[]): DecodedTelemetry {
  const decoded: DecodedTelemetry = { readings: [], faults: [] };
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
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

/** Characters of a `can` list; each takes at most six bytes as JSON. */
function charactersOf(entries: readonly { key: string; value: string }[] = []): number {
  let characters = 0;
  for (const { key, value } of entries) characters += key.length + value.length;
  return characters;
}

/** Most readings are so small that nothing needs to be written as JSON to know it. */
function isSmall({ can = [], sensors = [], frames }: TelemetryReading): boolean {
  if (frames) return false;
  let [entries, characters] = [can.length, charactersOf(can)];
  for (const { name, data } of sensors) {
    entries += 1 + data.length;
    characters += name.length + charactersOf(data);
  }
  return 6 * characters + 24 * entries + 4 <= maximumReadingBytes;
}

function sizeFault(index: number, reading: TelemetryReading): UploadFault | undefined {
  if (isSmall(reading)) return undefined;
  const { can, sensors, frames } = reading;
  const bytes = jsonBytes(can) + jsonBytes(sensors) + jsonBytes(frames);
  if (bytes <= maximumReadingBytes) return undefined;
  const rule = `must have at most ${maximumReadingBytes} bytes as JSON; these have ${bytes}`;
  const message = `can, sensors and frames of a reading ${rule}`;
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
