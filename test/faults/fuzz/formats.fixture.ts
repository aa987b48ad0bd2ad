import type { DecodedTelemetry } from '@odograph/codec/shared/readings';
import { InvalidMessage } from '@odograph/codec/shared/source-format';
import { decodeUpload, readUpload, sourceFormats } from '@odograph/codec/uploads';
import fc, { type Arbitrary } from 'fast-check';
import { encodeCbor } from '../../../packages/codec/native/cbor.ts';
import { type AvlCodec, avlCodecs, encodeAvlRecords } from '../../../packages/codec/teltonika/encode.ts';
import {
  type FrameResult,
  maximumDataBytes,
  readDatagram,
  readHello,
  readPacket,
  wrapPacket,
} from '../../../packages/codec/teltonika/packets.ts';
import { decodePayload } from '../../../packages/codec/tesla/tesla.ts';
import type { SourceFormatName } from '../../../packages/contracts/sources.ts';
import { latestTimestamp, type TelemetryReading } from '../../../packages/contracts/telemetry.ts';

/** A format with inputs, half of them nearly valid. */
export interface FuzzedFormat {
  readonly name: string;
  readonly inputs: Arbitrary<Buffer>;
  /** Decodes an input. @throws Error when the outcome is neither readings nor faults, or out of proportion */
  decode(input: Buffer): void;
  /** The same, for inputs of the largest size. */
  decodeBytes(input: Buffer): void;
}

const reading: TelemetryReading = {
  ...{ timestamp: 1763712000.25, sequence: 4711 },
  location: { latitude: 48.8566, longitude: 2.3522, angle: 90, altitude: 35, speed: 52, satellites: 9 },
  status: { ignition: true, movement: true, mileage: 12345.6, autonomy: 310 },
  can: [
    { key: 'external_voltage', value: '13.5' },
    { key: 'event', value: 'ignition' },
    { key: 'io60000', value: 'abcd' },
  ],
  electric: { soc: 80, soh: 97, current: -12.3 },
  sensors: [{ name: 'cargo', data: [{ key: 'temperature', value: '4.5' }] }],
  fleet: { lock: 'LOCKED', fuel: 31.5, ChargingUntil: 0, cardholder: [{ id: '1', statut: 'PRESENT' }] },
  alarms: { towing: false },
  frames: [{ id: '7E8', data: '04410C1AF8000000', time: 1763712000.125 }],
};

/** Bytes with some of them changed, removed, repeated or cut off. */
function mutated(samples: readonly Uint8Array[]): Arbitrary<Buffer> {
  const edit = fc.record({
    kind: fc.constantFrom('set', 'insert', 'remove', 'repeat', 'cut'),
    at: fc.nat(),
    length: fc.nat(20),
    bytes: fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 9 }), fc.constantFrom(...extremes)),
  });
  return fc.tuple(fc.constantFrom(...samples), fc.array(edit, { maxLength: 6 })).map(([sample, edits]) => {
    let bytes = Buffer.from(sample);
    for (const { kind, at: anywhere, length, bytes: added } of edits) {
      const at = anywhere % (bytes.length + 1);
      const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
      if (kind === 'set') bytes = Buffer.concat([before, added, after.subarray(added.length)]);
      else if (kind === 'insert') bytes = Buffer.concat([before, added, after]);
      else if (kind === 'remove') bytes = Buffer.concat([before, after.subarray(length)]);
      else if (kind === 'repeat') bytes = Buffer.concat([before, after.subarray(0, length), after]);
      else bytes = Buffer.from(before);
    }
    return bytes;
  });
}

/** Inputs that break parsers: extreme numbers and lengths, and reserved words. */
const extremes = [
  ...['ff', 'ffff', 'ffffffff', 'ffffffffffffffff', '7fffffff', '80000000', '00', '0000000000000000', '9f', 'bf', '5f'],
  ...[
    'fb7ff8000000000000',
    'fb7ff0000000000000',
    '1bffffffffffffffff',
    '3bffffffffffffffff',
    '9bffffffffffffffff',
    'c0',
  ],
].map((hex) => Buffer.from(hex, 'hex'));
const words = ['"__proto__":', '1e999', '-0', 'null', '"\\ud800"', '[', '{', '"\\u0000"', 'NaN', '""', '1763712000000'];
extremes.push(...words.map((word) => Buffer.from(word)));

const anything = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const anyJson = fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value)));

/** Bytes of a decoded upload as JSON, for each byte of input: names in the table of a format are longer than their ids. */
const maxGrowth = 100;

function check({ readings, faults }: DecodedTelemetry, input: Buffer): void {
  for (const { timeMicroseconds } of readings) {
    const isTime = timeMicroseconds >= 0 && timeMicroseconds <= latestTimestamp * 1e6;
    if (!isTime) throw new Error(`time ${timeMicroseconds}`);
  }
  for (const { message } of faults)
    if (message.length > 500) throw new Error(`a fault of ${message.length} characters`);
  const size = JSON.stringify(readings).length;
  if (size > 5000 + maxGrowth * input.length) throw new Error(`${size} bytes from ${input.length}`);
}

function format(name: string, inputs: readonly Arbitrary<Buffer>[], decode: (input: Buffer) => void): FuzzedFormat {
  return { name, inputs: fc.oneof(...inputs), decode, decodeBytes: decode };
}

const json = (...values: unknown[]) => values.map((value) => Buffer.from(JSON.stringify(value)));

function decodeNative(input: Buffer): void {
  check(decodeUpload('native', input, 0), input);
  readUpload('native', input, 0);
}

const cborSamples = [reading, [reading, reading], { ...reading, can: [] }].map(encodeCbor);
const cborHead = fc
  .tuple(fc.constantFrom(0x80, 0x81, 0x82, 0x98, 0x99, 0x9a, 0x9b, 0x9f, 0xa1, 0xa2, 0xb8, 0xbb, 0xbf), anything)
  .map(([head, rest]) => Buffer.concat([Buffer.from([head]), rest]));
const anyCbor = fc.jsonValue().map((value) => Buffer.from(encodeCbor([value])));

const codecNames = Object.keys(avlCodecs) as AvlCodec[];
const avlSamples = codecNames.flatMap((codec) => [
  encodeAvlRecords(codec, [reading]),
  encodeAvlRecords(codec, [reading, reading, reading]),
]);
const avlHead = fc
  .tuple(fc.constantFrom(...Object.values(avlCodecs), 0x0c, 0x0d, 0x0e), anything)
  .map(([codec, rest]) => Buffer.concat([Buffer.from([codec]), rest]));

/** Requires that a frame lies within the bytes, and that one that is not complete asks for more of them, within bounds. */
function checkFrame({ frame, fault, bytes }: FrameResult, { length }: Buffer): void {
  const isComplete = frame !== undefined || fault !== undefined;
  const isBounded = isComplete ? bytes <= length : bytes > length && bytes < 2 * maximumDataBytes;
  if (!isBounded || (frame !== undefined && bytes === 0)) throw new Error(`${bytes} bytes of ${length}`);
}

/** Reads the bytes of a connection as they come: a hello, then packets, until a fault. */
function readConnection(input: Buffer): void {
  let rest = input;
  for (let read = readHello; ; read = readPacket) {
    const result = read(rest);
    checkFrame(result, rest);
    const { frame, fault, bytes } = result;
    if (frame?.kind === 'packet') check(decodeUpload('teltonika', frame.data, 0), frame.data);
    if (fault !== undefined || frame === undefined) break;
    rest = rest.subarray(bytes);
  }
  const datagram = readDatagram(input);
  if (datagram) check(decodeUpload('teltonika', datagram.data, 0), datagram.data);
}

const hello = Buffer.from(`\0\x0f350000000000001`, 'latin1');
const connections = avlSamples.map((data) =>
  Buffer.concat([hello, wrapPacket(data), Buffer.from([0xff]), wrapPacket(data)]),
);

const sourceSamples: Readonly<Record<SourceFormatName, unknown>> = {
  traccar: {
    position: {
      ...{ fixTime: '2025-11-21T08:00:00.500+00:00', deviceTime: '2025-11-21T08:00:01.000+00:00', outdated: false },
      ...{ valid: true, latitude: 48.8566, longitude: 2.3522, altitude: 35, speed: 28.08, course: 90, network: null },
      attributes: {
        ignition: true,
        odometer: 12_345_678,
        alarm: 'tow,hardBraking',
        batteryLevel: 87,
        nested: { a: [1] },
      },
    },
    device: { uniqueId: '350000000000001' },
  },
  flespi: [
    {
      ident: 'a',
      timestamp: 1_506_695_785,
      'position.latitude': 53.9,
      'position.longitude': 27.4,
      'siren.status': false,
    },
  ],
  tesla: {
    ...{ Vin: '5YJ3E1EA7KF000001', CreatedAt: '2025-11-21T08:00:00Z', Location: { latitude: 48.8, longitude: 2.3 } },
    ...{ DoorState: { DriverFront: false }, Soc: { anyValue: 80.25 }, Gear: 'ShiftStateD', GpsState: '<invalid>' },
  },
  owntracks: { _type: 'location', lon: 2.29513, lat: 48.85833, tst: 1_497_349_316, vel: 61, topic: 'owntracks/a/b' },
  osmand: {
    location: { timestamp: '2021-07-21T08:06:34.444Z', coords: { latitude: -6.1, longitude: 106.6, speed: 18.67 } },
    device_id: '8737767034',
  },
};

/** Receives a body as its endpoint does, and decodes its messages as ingest does. */
function receiveSource(name: SourceFormatName, input: Buffer): void {
  check(decodeUpload(name, input.toString(), 0), input);
  let body: unknown;
  try {
    body = JSON.parse(input.toString());
  } catch {
    return;
  }
  try {
    const messages = sourceFormats[name].split({ body, device: 'a', receivedAtMs: 1_763_712_000_000 });
    check(decodeUpload(name, JSON.stringify(messages.map(({ message }) => message)), 0), input);
  } catch (error) {
    if (!(error instanceof InvalidMessage)) throw error;
  }
}

const teslaPayload = Buffer.from(
  '0a18081512143a120976e09c11a56d484011a835cd3b4ed102400a0d08041209290000000000003e40120b0880b880c9061080e59a771a0156',
  'hex',
);

function readTesla(input: Buffer): void {
  try {
    check(decodeUpload('tesla', JSON.stringify([decodePayload(input)]), 0), input);
  } catch (error) {
    if (!(error instanceof InvalidMessage)) throw error;
  }
}

/** Every format in which devices and other systems report. */
export const fuzzedFormats: readonly FuzzedFormat[] = [
  format('native JSON', [anything, anyJson, mutated(json(reading, [reading, reading]))], decodeNative),
  format('native CBOR', [cborHead, anyCbor, mutated(cborSamples)], decodeNative),
  format('Teltonika AVL data', [avlHead, mutated(avlSamples)], (input) =>
    check(decodeUpload('teltonika', input, 0), input),
  ),
  format('Teltonika connections', [anything, mutated(connections)], readConnection),
  ...(Object.keys(sourceSamples) as SourceFormatName[]).map((name) =>
    format(name, [anyJson, mutated(json(sourceSamples[name], [sourceSamples[name]]))], (input) =>
      receiveSource(name, input),
    ),
  ),
  format('tesla protobuf', [anything, mutated([teslaPayload])], readTesla),
];
