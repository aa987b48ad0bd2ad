import type { AvlFamily } from '@odograph/contracts/device-models';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import type { RawReadings } from '../shared/readings.ts';
import { addToCan, type Draft } from '../shared/source-format.ts';
import { type AbsentValues, type AvlTable, avlTable, measure } from './avl-table.ts';
import { readBeacons, readTags } from './beacon-lists.ts';

type Property = NonNullable<ReturnType<AvlTable['get']>>;

/** How the codecs of AVL data differ: bytes of an I/O element's id and of a count, and what else a record has. */
export interface Layout {
  readonly idBytes: 1 | 2;
  readonly countBytes: 1 | 2;
  /** Bytes of the values of each group; a list of values of variable length may follow. */
  readonly groups: readonly (1 | 2 | 4 | 8 | 16)[];
  readonly hasGenerationType: boolean;
  readonly hasVariableLength: boolean;
}

const groups = [1, 2, 4, 8] as const;
const codec16 = 0x10;
export const layouts: ReadonlyMap<number, Layout> = new Map([
  [0x08, { idBytes: 1, countBytes: 1, groups, hasGenerationType: false, hasVariableLength: false }],
  [0x8e, { idBytes: 2, countBytes: 2, groups, hasGenerationType: false, hasVariableLength: true }],
  [codec16, { idBytes: 2, countBytes: 1, groups, hasGenerationType: true, hasVariableLength: false }],
]);

/** Whether a codec id is one whose records `decodeAvlRecords` reads. */
export const isAvlCodec = (codec = 0): boolean => layouts.has(codec);

/**
 * Decodes the records of a data field in Codec 8, 8 Extended or 16: codec id, count, records, count (Teltonika, "Teltonika
 * Data Sending Protocols"). Some devices send an additional group of 16-byte values without announcing it:
 * records that do not fill the data field are decoded again with that group.
 * @param family of the device; undefined when its model has none
 * @throws RangeError when the records do not fill the data field exactly
 */
export function decodeAvlRecords(data: Buffer, family: AvlFamily | undefined): RawReadings {
  const codec = data.readUInt8(0);
  const layout = layouts.get(codec);
  if (layout === undefined) throw new RangeError(`codec ${codec} has no AVL records`);
  // Only this family uses Codec 16.
  const properties = avlTable(family ?? (codec === codec16 ? 'fmx6' : undefined));
  try {
    return readRecords(data, layout, properties);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    try {
      return readRecords(data, { ...layout, groups: [...layout.groups, 16] }, properties);
    } catch {
      throw error;
    }
  }
}

function readRecords(data: Buffer, layout: Layout, properties: AvlTable): RawReadings {
  const decoding = { cursor: new Cursor(data, 2), layout, properties, absentValues: {} };
  const readings = Array.from({ length: data.readUInt8(1) }, () => readRecord(decoding));
  const rest = data.length - decoding.cursor.offset;
  if (rest !== 1) throw new RangeError(`the records end ${rest - 1} bytes before the data field does`);
  return { readings, absentValues: decoding.absentValues };
}

interface Decoding {
  readonly cursor: Cursor;
  readonly layout: Layout;
  readonly properties: AvlTable;
  readonly absentValues: AbsentValues;
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

function readRecord(decoding: Decoding): Draft {
  const { cursor, layout, properties } = decoding;
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
  for (const length of layout.groups) {
    for (let count = cursor.unsigned(layout.countBytes); count > 0; count -= 1) {
      const id = cursor.unsigned(layout.idBytes);
      if (length === 8 || length === 16) readLongValue(draft, properties.get(id), id, cursor.take(length));
      else readNumber(draft, decoding, id, length);
    }
  }
  if (layout.hasVariableLength) readVariableValues(draft, decoding);
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

/** Decodes a number by its length: models send the same element with different lengths. */
function readNumber(draft: Draft, { cursor, properties, absentValues }: Decoding, id: number, length: 1 | 2 | 4): void {
  const property = properties.get(id);
  const raw = cursor.unsigned(length);
  if (property === undefined) draft.can.push({ key: `io${id}`, value: String(raw) });
  else if (property.type === 'hex') store(draft, property, raw.toString(16).padStart(2 * length, '0'));
  else if (property.type === 'flag') storeFlag(draft, property, raw);
  else {
    const value = measure(property, property.signed ? toSigned(raw, length, property) : raw, absentValues);
    if (value !== undefined) store(draft, property, value);
  }
}

function toSigned(raw: number, length: 1 | 2 | 4, { max = 0 }: Property): number {
  // Temperatures from -40 to 215 °C need all values of a byte, so only those above the maximum are negative.
  if (length === 1 && max <= 0xff && raw <= max) return raw;
  const shift = 32 - 8 * length;
  return (raw << shift) >> shift;
}

function readLongValue(draft: Draft, property: Property | undefined, id: number, bytes: Buffer): void {
  const number = () => String(property?.signed ? bytes.readBigInt64BE() : bytes.readBigUInt64BE());
  if (property?.type === 'hex') store(draft, property, bytes.toString('hex'));
  else
    draft.can.push({ key: property?.name ?? `io${id}`, value: bytes.length === 8 ? number() : bytes.toString('hex') });
}

function readVariableValues(draft: Draft, { cursor, properties, absentValues }: Decoding): void {
  for (let count = cursor.unsigned(2); count > 0; count -= 1) {
    const id = cursor.unsigned(2);
    const bytes = cursor.take(cursor.unsigned(2));
    const property = properties.get(id);
    const name = property?.name ?? `io${id}`;
    if (property?.type === 'text') addToCan(draft.can, name, bytes.toString('latin1').replaceAll('\0', ''));
    else if (property?.type === 'beacons' || property?.type === 'tags') storeList(draft, property, bytes, absentValues);
    else addToCan(draft.can, name, bytes.toString('hex'));
  }
}

/** A list of another layout is kept as it was sent. */
function storeList(draft: Draft, { name, type }: Property, bytes: Buffer, absentValues: AbsentValues): void {
  try {
    const sensors = type === 'tags' ? readTags(name, bytes, absentValues) : readBeacons(name, bytes);
    if (sensors.length > 0) draft.sensors = [...(draft.sensors ?? []), ...sensors];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    addToCan(draft.can, name, bytes.toString('hex'));
  }
}

/** A flag with more values than two, such as a degree of jamming, is kept as a number too. */
function storeFlag(draft: Draft, property: Property, raw: number): void {
  store(draft, property, raw !== 0);
  if (raw > 1) draft.can.push({ key: property.name, value: String(raw) });
}

function store(draft: Draft, { name, sensor, target }: Property, value: number | boolean | string): void {
  if (target !== undefined) {
    const [group, field] = target;
    draft[group] ??= {};
    draft[group][field] = value;
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
