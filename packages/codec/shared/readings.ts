import { describeSchemaFaults, type SchemaRule } from '@odograph/contracts/schema-faults';
import {
  type CanDatum,
  LocationGroup,
  latestTimestamp,
  maximumReadingBytes,
  maximumReadingsPerUpload,
  TelemetryReading,
} from '@odograph/contracts/telemetry';
import { parseTimestamp } from '@odograph/contracts/timestamps';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { isRecord } from './source-format.ts';

/** Why an upload, a reading or a value is invalid. `index` is the position of the reading; null: the whole upload. */
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
    | 'INVALID_VALUE'
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
  /** Counts of values left out by reason: sensor error codes, and values outside the measuring range. */
  absentValues?: Readonly<Record<string, number>>;
}

/** Further invalid values of a reading are dropped without a report. */
const maxFaults = 100;
/** Beyond these, values at fault of an upload are not reported either: two bytes of it are enough for one. */
const maxFaultsOfUpload = 1000;
const { location, status, electric, fleet, alarms, sensors, frames, timestamp } = TelemetryReading.properties;
const readingCheck = Compile(TelemetryReading);
const timeCheck = Compile(timestamp);
const speedCheck = Compile(LocationGroup.properties.speed);
const validParts = compileValidParts(TelemetryReading);
const beyondCalendar = 'timestamp must be in UNIX seconds, and lies beyond the year 9999: is it in milliseconds?';
const tooLarge = `was dropped: can, sensors and frames of a reading must have at most ${maximumReadingBytes} bytes as JSON`;

/** The readings of an upload, not checked. */
export interface RawReadings extends Pick<DecodedTelemetry, 'absentValues'> {
  readings: readonly unknown[];
}

/** An upload that cannot be read as a whole. */
export class UnreadableUpload extends Error {
  readonly fault: UploadFault;

  constructor(reason: UploadFault['reason'], message: string) {
    super(message);
    this.fault = { index: null, reason, message };
  }
}

/** @throws UnreadableUpload for more readings than an upload may have */
export function requireFewReadings<T>(readings: readonly T[], what: 'readings' | 'messages'): readonly T[] {
  if (readings.length <= maximumReadingsPerUpload) return readings;
  const rule = `an upload must have at most ${maximumReadingsPerUpload} ${what}; this one has ${readings.length}`;
  throw new UnreadableUpload('TOO_MANY_READINGS', rule);
}

/** Whether a fault concerns a dropped value, not a whole reading or upload. */
export function isValueFault({ reason }: { readonly reason: string }): boolean {
  return reason === 'INVALID_VALUE' || reason === 'TOO_LARGE';
}

/**
 * Checks readings in the form of the platform's own uploads, whatever format they were decoded from. Values at fault are dropped;
 * a reading without a valid time is rejected. Undefined stands for a message without a reading.
 */
export function checkReadings(values: readonly unknown[]): DecodedTelemetry {
  const decoded: DecodedTelemetry = { readings: [], faults: [] };
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    const reading = isValid(value) ? value : keepValidParts(index, value, decoded.faults);
    if (reading) decoded.readings.push({ index, timeMicroseconds: Math.round(reading.timestamp * 1e6), reading });
  }
  return decoded;
}

/** Avoids a copy: nearly all readings are valid. */
function isValid(value: unknown): value is TelemetryReading {
  return (
    readingCheck.Check(value) &&
    hasOnlyKnownMembers(value) &&
    (isSmall(value) || largestList(value) === undefined) &&
    chargingUntilRule(value) === undefined
  );
}

type Names = Readonly<Record<string, true>>;

const namesOf = ({ properties }: { readonly properties: object }): Names =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, true]));

const known = {
  ...{ location: namesOf(location), status: namesOf(status), electric: namesOf(electric), alarms: namesOf(alarms) },
  ...{ fleet: namesOf(fleet), cardholder: namesOf(fleet.properties.cardholder.items) },
  ...{ sensor: namesOf(sensors.items), frame: namesOf(frames.items) },
};

/** Lookups in an object take half the time of those in a set. */
function hasOnly(members: object | undefined, names: Names): boolean {
  for (const name in members) if (names[name] !== true) return false;
  return true;
}

const haveOnly = (list: readonly object[] | undefined, names: Names): boolean =>
  list === undefined || list.every((members) => hasOnly(members, names));

/** Hand-written: most fields of a reading are checked here. */
function haveOnlyDatumMembers(data: readonly CanDatum[] = []): boolean {
  for (const datum of data) {
    for (const name in datum) if (name !== 'key' && name !== 'value') return false;
  }
  return true;
}

/** Groups and lists are stored as JSON: without this check, unknown members with any content would be stored. */
function hasOnlyKnownMembers(reading: TelemetryReading): boolean {
  return (
    hasOnly(reading.location, known.location) &&
    hasOnly(reading.status, known.status) &&
    hasOnly(reading.electric, known.electric) &&
    hasOnly(reading.fleet, known.fleet) &&
    hasOnly(reading.alarms, known.alarms) &&
    haveOnlyDatumMembers(reading.can) &&
    haveOnly(reading.frames, known.frame) &&
    haveOnly(reading.fleet?.cardholder, known.cardholder) &&
    haveOnly(reading.sensors, known.sensor) &&
    (reading.sensors === undefined || reading.sensors.every(({ data }) => haveOnlyDatumMembers(data)))
  );
}

/** Copies the valid parts of a reading and adds the faults of the others; undefined without a valid time. */
function keepValidParts(index: number, value: unknown, faults: UploadFault[]): TelemetryReading | undefined {
  if (!isRecord(value)) {
    faults.push({ index, reason: 'NOT_A_READING', message: 'a reading must be an object' });
    return undefined;
  }
  const dropped: UploadFault[] = [];
  const drop = (reason: UploadFault['reason'], { field, rule }: SchemaRule) => {
    const isReported = dropped.length < maxFaults && faults.length + dropped.length < maxFaultsOfUpload;
    if (isReported) dropped.push({ index, reason, field, message: `${field} ${rule}` });
  };
  const reading = validParts(value, '', (fault) => drop('INVALID_VALUE', fault));
  if (!readingCheck.Check(reading)) {
    faults.push({ index, reason: 'INVALID_FIELD', field: 'timestamp', message: describeTimeFault(value['timestamp']) });
    return undefined;
  }
  const rule = chargingUntilRule(reading);
  if (rule !== undefined) {
    delete reading.fleet?.ChargingUntil;
    drop('INVALID_VALUE', { field: 'fleet.ChargingUntil', rule });
  }
  keepSpeed(reading, value['location']);
  for (let list = largestList(reading); list !== undefined; list = largestList(reading)) {
    delete reading[list];
    drop('TOO_LARGE', { field: list, rule: tooLarge });
  }
  faults.push(...dropped);
  return reading;
}

/** Names the rule, but not the value: faults are logged and shown. */
function describeTimeFault(time: unknown): string {
  if (time === undefined) return 'timestamp is missing';
  if (typeof time === 'number' && time > latestTimestamp) return beyondCalendar;
  return `timestamp ${describeSchemaFaults(timeCheck.Errors(time)).rule}`;
}

/** Keeps the speed of a dropped position: with the ignition, it determines whether a vehicle may be immobilized. */
function keepSpeed(reading: TelemetryReading, position: unknown): void {
  if (reading.location !== undefined || reading.fleet?.speed !== undefined || !isRecord(position)) return;
  const { speed } = position;
  if (speedCheck.Check(speed)) reading.fleet = { ...reading.fleet, speed };
}

/** Characters of a `can` list; each takes at most six bytes as JSON. */
function charactersOf(entries: readonly { key: string; value: string }[] = []): number {
  let characters = 0;
  for (const { key, value } of entries) characters += key.length + value.length;
  return characters;
}

/** Avoids writing most readings as JSON to know their size. */
function isSmall({ frames, can = [], sensors: ofSensors = [] }: TelemetryReading): boolean {
  if (frames) return false;
  let [entries, characters] = [can.length, charactersOf(can)];
  for (const { name, data } of ofSensors) {
    entries += 1 + data.length;
    characters += name.length + charactersOf(data);
  }
  return 6 * characters + 24 * entries + 4 <= maximumReadingBytes;
}

const jsonBytes = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

/** Finds the largest list of a reading whose lists are too large together. */
function largestList(reading: TelemetryReading): 'can' | 'sensors' | 'frames' | undefined {
  const sizes = (['can', 'sensors', 'frames'] as const).map((list) => ({ list, bytes: jsonBytes(reading[list]) }));
  if (sizes.reduce((sum, { bytes }) => sum + bytes, 0) <= maximumReadingBytes) return undefined;
  return sizes.reduce((largest, one) => (one.bytes > largest.bytes ? one : largest)).list;
}

/** 0 and an empty text mean unknown; anything else must be a timestamp (interface specification, "Fleet vehicle status"). */
function chargingUntilRule({ fleet: group }: TelemetryReading): string | undefined {
  const value = group?.ChargingUntil;
  if (value === undefined || value === 0 || value === '') return undefined;
  try {
    parseTimestamp('', String(value));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  }
}

/** The keywords that describe the parts of a schema. */
interface SchemaParts {
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly items?: TSchema;
  readonly maxItems?: number;
}

type Report = (fault: SchemaRule) => void;

/** Copies the parts of a value that its schema allows, and reports each that it does not; undefined when none is left. */
type ValidParts = (value: unknown, field: string, report: Report) => unknown;

/**
 * Compiles a schema of objects, arrays and single values. Unknown members are left out without a report. An object
 * without a valid value for each required member is left out as a whole. NULs at the end of a text are padding.
 */
export function compileValidParts(schema: TSchema): ValidParts {
  const { properties, required = [], items, maxItems = 0 }: SchemaParts = schema;
  if (properties) return compileMembers(properties, required);
  return items ? compileItems(items, maxItems) : compileValue(schema);
}

function compileMembers(properties: Readonly<Record<string, TSchema>>, required: readonly string[]): ValidParts {
  const parts = Object.entries(properties).map(([name, part]) => ({ name, copy: compileValidParts(part) }));
  return (value, field, report) => {
    if (!isRecord(value)) {
      report({ field, rule: 'must be an object' });
      return undefined;
    }
    const missing = required.filter((name) => value[name] === undefined);
    for (const name of missing) report({ field: pathOf(field, name), rule: 'is missing' });
    const present = parts.filter(({ name }) => value[name] !== undefined);
    const copies = present.map(({ name, copy }) => [name, copy(value[name], pathOf(field, name), report)] as const);
    const members = Object.fromEntries(copies.filter(([, copied]) => copied !== undefined));
    const isComplete = required.every((name) => name in members);
    return isComplete && Object.keys(members).length > 0 ? members : undefined;
  };
}

function compileItems(items: TSchema, maxItems: number): ValidParts {
  const copy = compileValidParts(items);
  return (value, field, report) => {
    if (!Array.isArray(value)) {
      report({ field, rule: 'must be an array' });
      return undefined;
    }
    if (value.length > maxItems) report({ field, rule: `must have at most ${maxItems} elements` });
    const valid = value.slice(0, maxItems).map((item: unknown, index) => copy(item, `${field}.${index}`, report));
    const left = valid.filter((item) => item !== undefined);
    return left.length > 0 ? left : undefined;
  };
}

function compileValue(schema: TSchema): ValidParts {
  const validator = Compile(schema);
  return (value, field, report) => {
    if (validator.Check(value)) return value;
    const text = typeof value === 'string' ? withoutPadding(value) : value;
    if (validator.Check(text)) return text;
    report({ field, rule: describeSchemaFaults(validator.Errors(text)).rule });
    return undefined;
  };
}

const pathOf = (field: string, name: string): string => (field === '' ? name : `${field}.${name}`);

/** A regular expression would take quadratic time for NULs inside a text. */
function withoutPadding(text: string): string {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 0) end -= 1;
  return text.slice(0, end);
}
