import { readFileSync } from 'node:fs';
import { maximumPacketBytes } from '@odograph/contracts/telemetry';
import {
  addFields,
  completeReading,
  type Draft,
  InvalidMessage,
  objectOf,
  readFieldTable,
  requireDevice,
  requireObject,
  type SourceFormat,
} from '../shared/source-format.ts';
import { isoTime, secondsOf } from '../shared/time.ts';

/** The numbers and names of fleet-telemetry's vehicle_data.proto: fields, types of values, and their enumerations. */
interface VehicleData {
  /** The name of a field at the place of its number. */
  readonly fields: readonly string[];
  readonly values: Readonly<Record<string, Member>>;
  readonly messages: Readonly<Record<string, Readonly<Record<string, Member>>>>;
  readonly enums: Readonly<Record<string, readonly string[]>>;
}
interface Member {
  readonly name: string;
  readonly type: string;
}

const vehicleData = JSON.parse(readFileSync(new URL('vehicle-data.json', import.meta.url), 'utf8')) as VehicleData;

/** A field as it is on the wire: an integer of up to 64 bits, or bytes of a fixed or a given length. */
interface WireField {
  readonly number: number;
  readonly value: bigint | Buffer;
}

const malformed = () => new InvalidMessage('body', 'must be a Payload of fleet-telemetry');

/** Reads the bytes of a protobuf message from the start to the end. */
class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** @throws InvalidMessage for more than 64 bits, or none */
  integer(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw malformed();
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw malformed();
  }

  /** @throws InvalidMessage when fewer bytes are left */
  bytes(length: bigint): Buffer {
    if (length > BigInt(this.#bytes.length - this.#at)) throw malformed();
    const end = this.#at + Number(length);
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}

/** Reads the fields of a message (Protocol Buffers, "Encoding"). @throws InvalidMessage for other bytes */
function readFields(bytes: Buffer): WireField[] {
  const reader = new WireReader(bytes);
  const fields: WireField[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.integer();
    const number = Number(tag >> 3n);
    const wireType = Number(tag & 7n);
    if (number === 0) throw malformed();
    if (wireType === 0) fields.push({ number, value: reader.integer() });
    else if (wireType === 1) fields.push({ number, value: reader.bytes(8n) });
    else if (wireType === 2) fields.push({ number, value: reader.bytes(reader.integer()) });
    else if (wireType === 5) fields.push({ number, value: reader.bytes(4n) });
    else throw malformed();
  }
  return fields;
}

/** The shortest decimal number that is this float, as 12.3 for 12.300000190734863. */
function shortestFloat(float: number): number {
  for (let digits = 6; digits <= 9; digits += 1) {
    const short = Number(float.toPrecision(digits));
    if (Math.fround(short) === float) return short;
  }
  return float;
}

/** JSON has no NaN and no infinity. */
const finite = (number: number): number | string => (Number.isFinite(number) ? number : String(number));

/** A value of a type or number that the tables do not know, in a form that JSON can hold. */
const asFound = (value: bigint | Buffer): string =>
  typeof value === 'bigint' ? String(value) : value.toString('base64');

function convertInteger(type: string, value: bigint): unknown {
  if (type === 'bool') return value !== 0n;
  if (type === 'int32') return Number(BigInt.asIntN(32, value));
  if (type === 'int64') return String(BigInt.asIntN(64, value));
  return vehicleData.enums[type]?.[Number(value)] ?? asFound(value);
}

function convertBytes(type: string, value: Buffer): unknown {
  if (type === 'string') return value.toString();
  if (type === 'float' && value.length === 4) return finite(shortestFloat(value.readFloatLE()));
  if (type === 'double' && value.length === 8) return finite(value.readDoubleLE());
  const members = vehicleData.messages[type];
  return members === undefined ? asFound(value) : convertMessage(members, value);
}

/** Converts a message with all its members: those that are missing on the wire are false or 0. */
function convertMessage(members: Readonly<Record<string, Member>>, bytes: Buffer): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const { name, type } of Object.values(members)) message[name] = type === 'bool' ? false : 0;
  for (const { number, value } of readFields(bytes)) {
    const { name, type } = members[number] ?? { name: `field${number}`, type: '' };
    message[name] = convert(type, value);
  }
  return message;
}

const convert = (type: string, value: bigint | Buffer): unknown =>
  typeof value === 'bigint' ? convertInteger(type, value) : convertBytes(type, value);

function requireBytes(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw malformed();
  return value;
}

/** Converts a datum: the name of its field, and a value such as `{ "doubleValue": 1.5 }`, the last of several. */
function convertDatum(bytes: Buffer): { key: string; value: Record<string, unknown> | null } {
  let key = vehicleData.fields[0] ?? '';
  let value: Record<string, unknown> | null = null;
  for (const { number, value: part } of readFields(bytes)) {
    if (number === 1 && typeof part === 'bigint') key = vehicleData.fields[Number(part)] ?? `Field${part}`;
    if (number !== 2) continue;
    for (const one of readFields(requireBytes(part))) {
      const { name, type } = vehicleData.values[one.number] ?? { name: `value${one.number}`, type: '' };
      value = { [name]: convert(type, one.value) };
    }
  }
  return { key, value };
}

/** Converts a Timestamp to ISO 8601, with milliseconds; undefined for an invalid date. */
function convertTimestamp(bytes: Buffer): string | undefined {
  let milliseconds = 0;
  for (const { number, value } of readFields(bytes)) {
    if (typeof value !== 'bigint') throw malformed();
    if (number === 1) milliseconds += Number(BigInt.asIntN(64, value)) * 1000;
    if (number === 2) milliseconds += Math.floor(Number(BigInt.asIntN(32, value)) / 1e6);
  }
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/**
 * Decodes a Payload of vehicle_data.proto to the JSON that fleet-telemetry itself sends with `transmit_decoded_records`.
 * Fields and values of later versions keep their numbers as names.
 * @throws InvalidMessage if the bytes are invalid or exceed the maximum size of an upload
 */
export function decodePayload(bytes: Buffer): Record<string, unknown> {
  // As JSON it would be too large for an upload, after seconds of decoding and a hundred times its size in memory.
  if (bytes.length > maximumPacketBytes)
    throw new InvalidMessage('body', `must have at most ${maximumPacketBytes} bytes`);
  const data: unknown[] = [];
  const record: Record<string, unknown> = { data, isResend: false };
  for (const { number, value } of readFields(bytes)) {
    if (number === 1) data.push(convertDatum(requireBytes(value)));
    else if (number === 2) record['createdAt'] = convertTimestamp(requireBytes(value));
    else if (number === 3) record['vin'] = requireBytes(value).toString();
    else if (number === 4) record['isResend'] = value !== 0n;
  }
  return record;
}

const teslaFields = readFieldTable(new URL('fields.json', import.meta.url));

const invalid = '<invalid>';
const windows = ['FdWindow', 'FpWindow', 'RdWindow', 'RpWindow'];

/**
 * The records that fleet-telemetry sends with `transmit_decoded_records`: `vin`, `createdAt`, `isResend` and `data`, a list of
 * fields that changed (fleet-telemetry, vehicle_data.proto); and those that its logger writes, with `Vin`, `CreatedAt`,
 * `IsResend` and a member for each field (PayloadToMap). Speeds and distances are in miles.
 */
export const tesla: SourceFormat = {
  endpoint: { decodeProtobuf: decodePayload },
  fields: teslaFields,
  split({ body }) {
    const records = Array.isArray(body) ? body : [body];
    return records.map((value: unknown, index) => {
      const message = requireObject(value, `record ${index}`);
      const name = message['Vin'] === undefined ? 'vin' : 'Vin';
      return { device: requireDevice(message[name], `record ${index}: ${name}`), message };
    });
  },
  timestampOf: ({ CreatedAt, createdAt = CreatedAt }) => secondsOf(createdAt),
  toReading(message) {
    const { Vin: _vin, CreatedAt: _createdAtOfLog, IsResend: _isResend, ...logged } = message;
    const { vin: _lowerVin, createdAt: _createdAt, isResend: _lowerIsResend, data, ...typed } = logged;
    const { Location: location, DoorState: doors, ...fields } = plainValues({ ...typed, ...fieldsOf(data) });
    const isEmpty = location === undefined && doors === undefined && Object.keys(fields).length === 0;
    // Alerts in protobuf have no fields of the vehicle.
    if (isEmpty && Array.isArray(data)) return undefined;
    const draft: Draft = { timestamp: tesla.timestampOf(message), can: [] };
    const { latitude, longitude } = objectOf(location);
    if (typeof latitude === 'number') draft.location = { latitude, longitude };
    addFields(draft, fields, teslaFields);
    addDoors(draft, doors);
    addWindows(draft, fields);
    addCharging(draft, fields['DetailedChargeState']);
    return completeReading(draft);
  },
  toMessage: (device, { timestamp, location }, fields) => ({
    ...{ Vin: device, CreatedAt: isoTime(timestamp), IsResend: false, ...fields },
    ...(location && { Location: { latitude: location.latitude, longitude: location.longitude } }),
  }),
};

/** The values of `data` by the names of their fields. */
function fieldsOf(data: unknown): Record<string, unknown> {
  if (!Array.isArray(data)) return data === undefined ? {} : { data };
  const fields = data.map(objectOf).filter(({ value }) => value !== null);
  return Object.fromEntries(fields.map(({ key, value }) => [String(key), value]));
}

/** Unwraps values with their types, such as `{ "doubleValue": 1.5 }`, and leaves out those that the vehicle calls invalid. */
function plainValues(typed: Record<string, unknown>): Record<string, unknown> {
  const plain = Object.entries(typed).map(([name, value]): [string, unknown] => {
    const members = Object.entries(objectOf(value));
    const [only] = members;
    const isTyped = members.length === 1 && only !== undefined && /Value$|^invalid$/.test(only[0]);
    if (!isTyped) return [name, value];
    return [name, only[0] === 'invalid' ? invalid : only[1]];
  });
  return Object.fromEntries(plain.filter(([, value]) => value !== invalid));
}

/** Doors are an object of flags or, from older vehicles, a text with those that are open, such as `DriverFront|TrunkRear`. */
function addDoors(draft: Draft, doors: unknown): void {
  if (doors === undefined || doors === null) return;
  const isOpen = typeof doors === 'string' ? doors !== '' : Object.values(objectOf(doors)).includes(true);
  draft.fleet = { ...draft.fleet, doors: isOpen ? 'OPEN' : 'CLOSED' };
  addFields(draft, { DoorState: doors }, new Map());
}

/** A record has only the windows that changed, so a closed one does not say that all are. */
function addWindows(draft: Draft, fields: Record<string, unknown>): void {
  const states = windows.map((name) => fields[name]).filter((state) => typeof state === 'string');
  const isOpen = states.some((state) => /Open/.test(state));
  const isClosed = states.length === windows.length && states.every((state) => /Closed$/.test(state));
  if (isOpen || isClosed) draft.fleet = { ...draft.fleet, windows: isOpen ? 'OPEN' : 'CLOSED' };
}

function addCharging(draft: Draft, state: unknown): void {
  if (typeof state !== 'string' || state.endsWith('Unknown')) return;
  const isCharging = /(Charging|Starting)$/.test(state);
  draft.fleet = { ...draft.fleet, ChargingStatus: isCharging ? 'CHARGING' : 'NOT_CHARGING' };
}
