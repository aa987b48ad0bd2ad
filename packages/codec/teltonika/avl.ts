import { readFileSync } from 'node:fs';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { addToCan } from '../fields.ts';

/** Where a value of an I/O element goes and how it is read; Teltonika, "Teltonika Data Sending Parameters ID" of the FMB family. */
export interface AvlProperty {
  readonly id: number;
  /** Key under which it is stored in `can`, or in `sensors` when it belongs to one. */
  readonly name: string;
  readonly unit?: string;
  readonly signed?: true;
  readonly divisor?: number;
  /** Default: a number. `text` is ASCII, `flag` is true when it is not 0. */
  readonly type?: 'flag' | 'hex' | 'text';
  readonly sensor?: string;
  /** The field of a reading that takes it, such as `status.mileage`. */
  readonly to?: string;
}

type Group = 'status' | 'electric' | 'fleet' | 'alarms';
type Target = readonly [group: Group, field: string];

const rows = JSON.parse(readFileSync(new URL('avl-ids.json', import.meta.url), 'utf8')) as AvlProperty[];
export const properties = new Map(
  rows.map((row) => [row.id, { ...row, target: row.to?.split('.') as Target | undefined }] as const),
);
type Property = NonNullable<ReturnType<typeof properties.get>>;

/** How the codecs of AVL data differ: bytes of an I/O element's id and of a count, and what else a record has. */
export interface Layout {
  readonly idBytes: 1 | 2;
  readonly countBytes: 1 | 2;
  readonly hasGenerationType: boolean;
  readonly hasVariableLength: boolean;
}

export const layouts: ReadonlyMap<number, Layout> = new Map([
  [0x08, { idBytes: 1, countBytes: 1, hasGenerationType: false, hasVariableLength: false }],
  [0x8e, { idBytes: 2, countBytes: 2, hasGenerationType: false, hasVariableLength: true }],
  [0x10, { idBytes: 2, countBytes: 1, hasGenerationType: true, hasVariableLength: false }],
]);

/** Whether a codec id is one whose records `decodeAvlRecords` reads. */
export function isAvlCodec(codec: number | undefined): boolean {
  return codec !== undefined && layouts.has(codec);
}

/** A reading while it is put together. */
interface Draft {
  timestamp: number;
  location?: TelemetryReading['location'];
  can: { key: string; value: string }[];
  sensors?: { name: string; data: { key: string; value: string }[] }[];
  status?: Record<string, unknown>;
  electric?: Record<string, unknown>;
  fleet?: Record<string, unknown>;
  alarms?: Record<string, unknown>;
}

/**
 * Decodes the records of a data field in Codec 8, 8 Extended or 16: codec id, count, records, count (Teltonika, "Teltonika
 * Data Sending Protocols"). The readings are not checked.
 * @throws RangeError when the records do not fill the data field exactly
 */
export function decodeAvlRecords(data: Buffer): unknown[] {
  const layout = layouts.get(data.readUInt8(0));
  if (layout === undefined) throw new RangeError(`codec ${data.readUInt8(0)} has no AVL records`);
  const cursor = new Cursor(data, 2);
  const readings = Array.from({ length: data.readUInt8(1) }, () => readRecord(cursor, layout));
  const rest = data.length - cursor.offset;
  if (rest !== 1) throw new RangeError(`the records end ${rest - 1} bytes before the data field does`);
  return readings;
}

/** Reads big-endian numbers one after the other; beyond the end it throws a RangeError. */
class Cursor {
  readonly bytes: Buffer;
  offset: number;

  constructor(bytes: Buffer, offset: number) {
    this.bytes = bytes;
    this.offset = offset;
  }

  unsigned(length: 1 | 2 | 4): number {
    const at = this.#advance(length);
    if (length === 1) return this.bytes.readUInt8(at);
    return length === 2 ? this.bytes.readUInt16BE(at) : this.bytes.readUInt32BE(at);
  }

  signed(length: 2 | 4): number {
    const at = this.#advance(length);
    return length === 2 ? this.bytes.readInt16BE(at) : this.bytes.readInt32BE(at);
  }

  take(length: number): Buffer {
    const at = this.#advance(length);
    if (this.offset > this.bytes.length) throw new RangeError('a value ends beyond the data field');
    return this.bytes.subarray(at, this.offset);
  }

  #advance(length: number): number {
    const at = this.offset;
    this.offset += length;
    return at;
  }
}

function readRecord(cursor: Cursor, layout: Layout): Draft {
  const seconds = (cursor.unsigned(4) * 2 ** 32 + cursor.unsigned(4)) / 1000;
  const draft: Draft = { timestamp: seconds, can: [] };
  const priority = cursor.unsigned(1);
  const location = readLocation(cursor);
  if (location) draft.location = location;
  const event = cursor.unsigned(layout.idBytes);
  if (event !== 0) draft.can.push({ key: 'event', value: properties.get(event)?.name ?? `io${event}` });
  if (priority !== 0) draft.can.push({ key: 'priority', value: String(priority) });
  if (layout.hasGenerationType) draft.can.push({ key: 'generation_type', value: String(cursor.unsigned(1)) });
  cursor.unsigned(layout.countBytes);
  readValues(draft, cursor, layout, 1);
  readValues(draft, cursor, layout, 2);
  readValues(draft, cursor, layout, 4);
  readLongValues(draft, cursor, layout);
  if (layout.hasVariableLength) readVariableValues(draft, cursor);
  return draft;
}

/**
 * Reads the GPS element. Without a fix, a device repeats its last position with 0 satellites, angle and speed: the position
 * is kept with `satellites: 0`. A device that never had a fix sends zeros, which are no position.
 */
function readLocation(cursor: Cursor): TelemetryReading['location'] {
  const longitude = cursor.signed(4) / 1e7;
  const latitude = cursor.signed(4) / 1e7;
  const altitude = cursor.signed(2);
  const angle = cursor.unsigned(2);
  const satellites = cursor.unsigned(1);
  const speed = cursor.unsigned(2);
  if (satellites > 0) return { latitude, longitude, angle, altitude, speed, satellites };
  return latitude === 0 && longitude === 0 ? undefined : { latitude, longitude, altitude, satellites };
}

function readValues(draft: Draft, cursor: Cursor, layout: Layout, length: 1 | 2 | 4): void {
  for (let count = cursor.unsigned(layout.countBytes); count > 0; count -= 1) {
    const id = cursor.unsigned(layout.idBytes);
    const property = properties.get(id);
    const raw = cursor.unsigned(length);
    if (property === undefined) draft.can.push({ key: `io${id}`, value: String(raw) });
    else if (property.type === 'hex') store(draft, property, raw.toString(16).padStart(2 * length, '0'));
    else if (property.type === 'flag') storeFlag(draft, property, raw);
    else store(draft, property, scale(property, property.signed ? toSigned(raw, length) : raw));
  }
}

function readLongValues(draft: Draft, cursor: Cursor, layout: Layout): void {
  for (let count = cursor.unsigned(layout.countBytes); count > 0; count -= 1) {
    const id = cursor.unsigned(layout.idBytes);
    const property = properties.get(id);
    const bytes = cursor.take(8);
    if (property?.type === 'hex') store(draft, property, bytes.toString('hex'));
    else {
      const key = property?.name ?? `io${id}`;
      draft.can.push({ key, value: String(property?.signed ? bytes.readBigInt64BE() : bytes.readBigUInt64BE()) });
    }
  }
}

function readVariableValues(draft: Draft, cursor: Cursor): void {
  for (let count = cursor.unsigned(2); count > 0; count -= 1) {
    const id = cursor.unsigned(2);
    const bytes = cursor.take(cursor.unsigned(2));
    const property = properties.get(id);
    const isText = property?.type === 'text';
    const value = isText ? bytes.toString('latin1').replaceAll('\0', '') : bytes.toString('hex');
    addToCan(draft.can, property?.name ?? `io${id}`, value);
  }
}

function toSigned(raw: number, length: 1 | 2 | 4): number {
  const shift = 32 - 8 * length;
  return (raw << shift) >> shift;
}

/** A division by a power of ten gives the nearest decimal fraction; a multiplication by 0.1 does not. */
function scale({ divisor }: Property, raw: number): number {
  return divisor === undefined ? raw : raw / divisor;
}

/** A flag with more values than two, such as a degree of jamming, is kept as a number too. */
function storeFlag(draft: Draft, property: Property, raw: number): void {
  store(draft, property, raw !== 0);
  if (raw > 1) draft.can.push({ key: property.name, value: String(raw) });
}

function store(draft: Draft, { name, sensor, target }: Property, value: number | boolean | string): void {
  if (target !== undefined) {
    const [groupName, field] = target;
    const group = draft[groupName] ?? {};
    group[field] = value;
    draft[groupName] = group;
    return;
  }
  const entry = { key: name, value: String(value) };
  if (sensor === undefined) draft.can.push(entry);
  else sensorOf(draft, sensor).data.push(entry);
}

function sensorOf(draft: Draft, name: string): { name: string; data: { key: string; value: string }[] } {
  draft.sensors ??= [];
  const known = draft.sensors.find((sensor) => sensor.name === name);
  if (known) return known;
  const sensor = { name, data: [] };
  draft.sensors.push(sensor);
  return sensor;
}
