import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { type Layout, layouts } from './avl.ts';
import { type AvlProperty, avlTable } from './avl-table.ts';

/** An I/O element; one of 1, 2, 4 or 8 bytes has a fixed length unless it says otherwise, any other a variable one. */
interface AvlElement {
  readonly id: number;
  readonly data: Buffer;
  readonly isVariable?: boolean;
}

/** The codecs of AVL data by their ids. */
export const avlCodecs = { codec8: 0x08, codec8Extended: 0x8e, codec16: 0x10 } as const;
export type AvlCodec = keyof typeof avlCodecs;

const maxRecords = 255;
const fixedLengths = [1, 2, 4, 8];
const properties = avlTable('fmb');

/**
 * Encodes readings as the data field of a packet of a device of the family FMB, from codec id to second count: what
 * `decodeTeltonika` decodes. Fields that the protocol cannot represent, such as `fleet.lock`,
 * are left out; in Codec 8 and 16 also values of variable length.
 * @throws RangeError for more than 255 readings, or a value that does not fit
 */
export function encodeAvlRecords(codec: AvlCodec, readings: readonly TelemetryReading[]): Buffer {
  const id = avlCodecs[codec];
  const layout = layouts.get(id);
  if (layout === undefined || readings.length > maxRecords) throw new RangeError(`${readings.length} records`);
  const records = readings.map((reading) => encodeRecord(toRecord(reading), layout));
  const count = Buffer.from([readings.length]);
  return Buffer.concat([Buffer.from([id]), count, ...records, count]);
}

function encodeRecord(record: ReturnType<typeof toRecord>, layout: Layout): Buffer {
  const { idBytes, countBytes, hasGenerationType, hasVariableLength } = layout;
  const elements = record.elements.filter(
    (element) => element.id < 2 ** (8 * idBytes) && (hasVariableLength || hasFixedLength(element)),
  );
  const fixed = elements.filter(hasFixedLength);
  const variable = elements.filter((element) => !hasFixedLength(element));
  const groups = fixedLengths.flatMap((length) => {
    const group = fixed.filter(({ data }) => data.length === length);
    return [unsigned(group.length, countBytes), ...group.flatMap(({ id, data }) => [unsigned(id, idBytes), data])];
  });
  return Buffer.concat([
    ...[unsigned(record.timestampMs, 8), unsigned(record.priority, 1), encodeLocation(record.location)],
    unsigned(record.eventId, idBytes),
    ...(hasGenerationType ? [unsigned(record.generationType, 1)] : []),
    ...[unsigned(elements.length, countBytes), ...groups],
    ...(hasVariableLength ? [unsigned(variable.length, 2)] : []),
    ...variable.flatMap(({ id, data }) => [unsigned(id, 2), unsigned(data.length, 2), data]),
  ]);
}

function hasFixedLength({ data, isVariable = false }: AvlElement): boolean {
  return !isVariable && fixedLengths.includes(data.length);
}

/** A device without a fix repeats its last position with 0 satellites; one that never had a fix sends zeros. */
function encodeLocation(location: TelemetryReading['location']): Buffer {
  const bytes = Buffer.alloc(15);
  if (!location) return bytes;
  bytes.writeInt32BE(Math.round(location.longitude * 1e7), 0);
  bytes.writeInt32BE(Math.round(location.latitude * 1e7), 4);
  bytes.writeInt16BE(Math.round(location.altitude ?? 0), 8);
  bytes.writeUInt16BE(Math.round(location.angle ?? 0), 10);
  bytes.writeUInt8(Math.min(location.satellites ?? 1, 255), 12);
  bytes.writeUInt16BE(Math.round(location.speed ?? 0), 13);
  return bytes;
}

/** Of several properties with one place, the finest. */
function byKey(keyOf: (property: AvlProperty) => string | undefined): ReadonlyMap<string, AvlProperty> {
  const found = new Map<string, AvlProperty>();
  for (const property of properties.values()) {
    const key = keyOf(property);
    if (key === undefined || (found.get(key)?.divisor ?? 0) >= (property.divisor ?? 1)) continue;
    found.set(key, property);
  }
  return found;
}

const byTarget = byKey(({ to }) => to);
const byName = byKey(({ name, sensor }) => (sensor === undefined ? name : undefined));
const bySensor = byKey(({ name, sensor }) => (sensor === undefined ? undefined : `${sensor}.${name}`));

function toRecord(reading: TelemetryReading) {
  const { timestamp, location, can = [], sensors = [] } = reading;
  const values = new Map(can.map(({ key, value }) => [key, value]));
  const elements = new Map<number, AvlElement>();
  const add = (property: AvlProperty | undefined, value: unknown) => {
    if (property !== undefined) elements.set(property.id, elementOf(property, value));
  };
  for (const group of ['status', 'electric', 'fleet', 'alarms'] as const) {
    for (const [field, value] of Object.entries(reading[group] ?? {})) add(byTarget.get(`${group}.${field}`), value);
  }
  for (const { name, data } of sensors) {
    for (const { key, value } of data) add(bySensor.get(`${name}.${key}`), value);
  }
  for (const [key, value] of values) {
    const id = unknownId(key);
    if (id === undefined) add(byName.get(key), value);
    else elements.set(id, unknownElement(id, value));
  }
  const event = values.get('event');
  return {
    timestampMs: Math.round(timestamp * 1000),
    priority: Number(values.get('priority') ?? 0),
    location,
    eventId: event === undefined ? 0 : (unknownId(event) ?? byName.get(event)?.id ?? 0),
    generationType: Number(values.get('generation_type') ?? 0),
    elements: [...elements.values()],
  };
}

/** The id of a property without a name, from its key `io123`. */
function unknownId(key: string): number | undefined {
  const digits = /^io(\d{1,5})$/.exec(key)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function elementOf({ id, type, divisor = 1, signed }: AvlProperty, value: unknown): AvlElement {
  const text = String(value);
  if (type === 'hex') return { id, data: Buffer.from(text, 'hex') };
  if (type === 'beacons' || type === 'tags') return { id, data: Buffer.from(text, 'hex'), isVariable: true };
  if (type === 'text') return { id, data: Buffer.from(text, 'latin1'), isVariable: true };
  const number = type === 'flag' && !/^\d+$/.test(text) ? Number(text === 'true') : Number(text);
  return { id, data: integer(BigInt(Math.round(number * divisor)), signed === true) };
}

/** Without a name, a number is in decimal and a value of variable length in hexadecimal. */
function unknownElement(id: number, value: string): AvlElement {
  if (/^(0|[1-9]\d*)$/.test(value)) return { id, data: integer(BigInt(value), false) };
  return { id, data: Buffer.from(value, 'hex'), isVariable: true };
}

/** Encodes a number in the fewest bytes that hold it. */
function integer(value: bigint, signed: boolean): Buffer {
  const fits = (bytes: number) =>
    (signed ? BigInt.asIntN(8 * bytes, value) : BigInt.asUintN(8 * bytes, value)) === value;
  const length = fixedLengths.find(fits);
  if (length === undefined) throw new RangeError(`${value} has no place in 8 bytes`);
  return unsigned(BigInt.asUintN(8 * length, value), length);
}

function unsigned(value: number | bigint, bytes: number): Buffer {
  const whole = Buffer.alloc(8);
  whole.writeBigUInt64BE(BigInt(value));
  return whole.subarray(8 - bytes);
}

/** Encodes the hello of a TCP device. */
export function encodeHello(imei: string): Buffer {
  return Buffer.concat([unsigned(imei.length, 2), Buffer.from(imei, 'latin1')]);
}

/** Encodes a UDP packet around a data field. */
export function encodeDatagram(ids: { packetId: number; avlPacketId: number; imei: string }, data: Buffer): Buffer {
  const body = Buffer.concat([
    unsigned(ids.packetId, 2),
    Buffer.from([1]),
    unsigned(ids.avlPacketId, 1),
    encodeHello(ids.imei),
    data,
  ]);
  return Buffer.concat([unsigned(body.length, 2), body]);
}
