import type { CanDatum, TelemetryReading } from '@odograph/contracts/telemetry';
import { type AbsentValues, measure, type NumberRule } from './avl-table.ts';

type Sensor = NonNullable<TelemetryReading['sensors']>[number];

const temperature: NumberRule & { bytes: number } = {
  ...{ bytes: 2, signed: true, divisor: 100, min: -4000, max: 12_500 },
  errors: [32_765, 32_766, 32_767],
};
const humidity = { bytes: 1, max: 100 };
const pitch = { bytes: 1, signed: true, min: -90, max: 90 } as const;
const roll = { bytes: 2, signed: true, min: -180, max: 180 } as const;

/** The parameters of a tag by their numbers; those without a size in bytes are hexadecimal, or text. */
const tagParameters: ReadonlyMap<number, NumberRule & { name: string; bytes?: number; isText?: true }> = new Map([
  [0, { name: 'rssi', bytes: 1, signed: true }],
  [1, { name: 'id' }],
  [2, { name: 'data' }],
  [5, { name: 'name', isText: true }],
  [6, { name: 'temperature', ...temperature }],
  [7, { name: 'humidity', ...humidity }],
  [8, { name: 'magnet', bytes: 1 }],
  [9, { name: 'movement', bytes: 1 }],
  [10, { name: 'movement_count', bytes: 2 }],
  [11, { name: 'pitch', ...pitch }],
  [12, { name: 'roll', ...roll }],
  [13, { name: 'low_battery', bytes: 1 }],
  [14, { name: 'battery_voltage', bytes: 2, divisor: 1000 }],
  [15, { name: 'mac' }],
]);

/**
 * Reads a list of tags: a byte, then for each tag its length and its parameters, each with number, length and value.
 * @param list the name of the list, which each sensor carries
 * @throws RangeError for bytes that are no such list
 */
export function readTags(list: string, bytes: Buffer, absent: AbsentValues): Sensor[] {
  const sensors: Sensor[] = [];
  for (let at = 1; at < bytes.length; ) {
    const end = at + 1 + bytes.readUInt8(at);
    const tag = take(bytes, at + 1, end);
    const data: CanDatum[] = [{ key: 'list', value: list }];
    for (let offset = 0; offset < tag.length; ) {
      const number = tag.readUInt8(offset);
      const valueEnd = offset + 2 + tag.readUInt8(offset + 1);
      data.push(...readParameter(number, take(tag, offset + 2, valueEnd), absent));
      offset = valueEnd;
    }
    sensors.push({ name: nameTag(data, sensors.length), data });
    at = end;
  }
  return sensors;
}

function readParameter(number: number, bytes: Buffer, absent: AbsentValues): CanDatum[] {
  const parameter = tagParameters.get(number) ?? { name: `parameter_${number}` };
  const { name } = parameter;
  if (parameter.isText) return [{ key: name, value: bytes.toString('latin1').replaceAll('\0', '') }];
  if (parameter.bytes === bytes.length) return readNumber(name, parameter, bytes, absent);
  return (name === 'data' && readEyeData(bytes, absent)) || [{ key: name, value: bytes.toString('hex') }];
}

function readNumber(key: string, rule: NumberRule, bytes: Buffer, absent: AbsentValues): CanDatum[] {
  const raw = rule.signed ? bytes.readIntBE(0, bytes.length) : bytes.readUIntBE(0, bytes.length);
  const value = measure(rule, raw, absent);
  return value === undefined ? [] : [{ key, value: String(value) }];
}

/** Values that follow the flags of an EYE sensor, in this order; each is present if its bit is set. */
const eyeValues: readonly { bit: number; bytes: number; read: (bytes: Buffer, absent: AbsentValues) => CanDatum[] }[] =
  [
    { bit: 0, bytes: 2, read: (bytes, absent) => readNumber('temperature', temperature, bytes, absent) },
    { bit: 1, bytes: 1, read: (bytes, absent) => readNumber('humidity', humidity, bytes, absent) },
    { bit: 4, bytes: 2, read: readMovement },
    { bit: 5, bytes: 1, read: (bytes, absent) => readNumber('pitch', pitch, bytes, absent) },
    { bit: 5, bytes: 2, read: (bytes, absent) => readNumber('roll', roll, bytes, absent) },
    {
      bit: 7,
      bytes: 1,
      read: (bytes) => [{ key: 'battery_voltage', value: String((200 + bytes.readUInt8(0)) / 100) }],
    },
  ];

/** The first bit says whether the sensor moves, the others count its movements. */
function readMovement(bytes: Buffer): CanDatum[] {
  const raw = bytes.readUInt16BE(0);
  return [
    { key: 'movement', value: String(raw >> 15) },
    { key: 'movement_count', value: String(raw & 0x7fff) },
  ];
}

/** Decodes the advertising data of an EYE sensor (Teltonika, "EYE sensor", sensor advertising).
 * @returns undefined when flags and length disagree: the data is from another kind of tag
 */
function readEyeData(bytes: Buffer, absent: AbsentValues): CanDatum[] | undefined {
  const flags = bytes[0] ?? 0;
  const values = eyeValues.filter(({ bit }) => (flags >> bit) & 1);
  if (bytes.length !== values.reduce((length, value) => length + value.bytes, 1)) return undefined;
  const data = [{ key: 'low_battery', value: String((flags >> 6) & 1) }];
  if ((flags >> 2) & 1) data.push({ key: 'magnet', value: String((flags >> 3) & 1) });
  let at = 1;
  for (const value of values) {
    data.push(...value.read(bytes.subarray(at, at + value.bytes), absent));
    at += value.bytes;
  }
  return data;
}

/**
 * Reads a list of beacons: a byte, then for each beacon its flags, its identity, and what the flags announce.
 * @param list the name of the list, which each sensor carries
 * @throws RangeError for bytes that are no such list
 */
export function readBeacons(list: string, bytes: Buffer): Sensor[] {
  const sensors: Sensor[] = [];
  for (let at = 1; at < bytes.length; ) {
    const flags = bytes.readUInt8(at);
    if ((flags & 0b1101_1000) !== 0) throw new RangeError(`the flags ${flags} of a beacon have no meaning`);
    const isIBeacon = (flags & 0b10_0000) !== 0;
    const idEnd = at + 1 + (isIBeacon ? 20 : 16);
    const id = take(bytes, at + 1, idEnd).toString('hex');
    const data: CanDatum[] = [
      { key: 'list', value: list },
      { key: 'id', value: id },
    ];
    at = idEnd;
    for (const { bit, key, length } of beaconValues) {
      if (!((flags >> bit) & 1)) continue;
      const value = take(bytes, at, at + length);
      data.push({ key, value: String(length === 1 ? value.readInt8(0) : value.readUInt16BE(0)) });
      at += length;
    }
    sensors.push({ name: `ble_${id}`, data });
  }
  return sensors;
}

/** Values that follow the identity of a beacon: RSSI in dBm; the units of the others are not published. */
const beaconValues = [
  { bit: 0, key: 'rssi', length: 1 },
  { bit: 1, key: 'battery_raw', length: 2 },
  { bit: 2, key: 'temperature_raw', length: 2 },
] as const;

function nameTag(data: readonly CanDatum[], index: number): string {
  const find = (name: string) => data.find(({ key }) => key === name)?.value;
  return `ble_${find('mac') ?? find('id') ?? index + 1}`;
}

function take(bytes: Buffer, from: number, to: number): Buffer {
  if (to > bytes.length) throw new RangeError('a list of BLE devices ends within a value');
  return bytes.subarray(from, to);
}
