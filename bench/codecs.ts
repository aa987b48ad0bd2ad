import { readFileSync } from 'node:fs';
import { type CanFrame, compileDecoder, compileModelDatabase } from '@odograph/codec/can/decode';
import { parseDbc } from '@odograph/codec/can/parse-dbc';
import { encodeCbor } from '@odograph/codec/native/cbor';
import { type AvlCodec, encodeAvlRecords } from '@odograph/codec/teltonika/encode';
import { decodeUpload } from '@odograph/codec/uploads';
import type { UploadFormat } from '@odograph/contracts/queues';
import type { SourceFormatName } from '@odograph/contracts/sources';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { type Benchmark, inTurns, readOptions } from './parts/benchmark.ts';
import { describeMachine, figure, median, printRounds } from './parts/report.ts';

const options = {
  seconds: [1, 'seconds per round'],
  rounds: [5, 'rounds per format'],
} as const;

/** Distinct uploads, so that no cache helps. */
const distinctUploads = 200;
/** As many as fit into a Teltonika packet, and as a device sends after a short time offline. */
const recordsPerUpload = 20;
const start = 1_763_712_000;

/** A vehicle that drives: position, states, mileage and some values of the device. */
function readingAt(index: number): TelemetryReading {
  return {
    timestamp: start + index,
    location: {
      ...{ latitude: 48.8 + index / 1e5, longitude: 2.3 + index / 1e5, altitude: 35, angle: index % 360 },
      ...{ speed: index % 130, satellites: 9 },
    },
    status: { ignition: true, movement: true, mileage: 12_345 + index },
    can: [
      { key: 'priority', value: '1' },
      { key: 'gsm_signal', value: String(index % 6) },
      { key: 'external_voltage', value: '13.876' },
      { key: 'axis_x', value: String(index % 100) },
      { key: 'gsm_operator', value: '20801' },
    ],
  };
}

/** Decodes uploads of 20 records. @param encode makes one of its readings */
function decodeUploads(
  format: UploadFormat,
  encode: (readings: readonly TelemetryReading[]) => Buffer | string,
): () => number {
  const uploads = Array.from({ length: distinctUploads }, (_, upload) =>
    encode(Array.from({ length: recordsPerUpload }, (_record, index) => readingAt(upload * recordsPerUpload + index))),
  );
  return () => {
    let records = 0;
    for (const upload of uploads) {
      const { readings, faults } = decodeUpload(format, upload, 0);
      if (faults.length > 0) throw new Error(faults[0]?.message);
      records += readings.length;
    }
    return records;
  };
}

const isoTime = ({ timestamp }: TelemetryReading) => new Date(Math.round(timestamp * 1000)).toISOString();

/** Builds one record as its system sends it. */
const messages: Partial<Record<SourceFormatName, (reading: TelemetryReading) => object>> = {
  traccar: (reading) => ({
    position: {
      ...{ id: 10, deviceId: 3, protocol: 'teltonika', deviceTime: isoTime(reading), fixTime: isoTime(reading) },
      ...{ outdated: false, valid: true, course: 90, accuracy: 0, network: null },
      ...reading.location,
      attributes: {
        ...{ ignition: true, motion: true, odometer: 12_345_678, sat: 9, rpm: 2100, hours: 3_600_000, blocked: false },
      },
    },
    device: { id: 3, name: 'Van', uniqueId: '350000000000001', status: 'online' },
  }),
  flespi: ({ timestamp, location }) => ({
    ...{ ident: '350000000000001', timestamp, 'position.latitude': location?.latitude },
    ...{ 'position.longitude': location?.longitude, 'position.speed': 52, 'position.satellites': 9 },
    ...{ 'position.direction': 262.643854, 'position.altitude': 233.48, 'vehicle.mileage': 160 },
    ...{ 'engine.ignition.status': true, 'immobilizer.status': false, 'battery.voltage': 4.1 },
  }),
  tesla: (reading) => ({
    ...{ Vin: '5YJ3E1EA7KF000001', CreatedAt: isoTime(reading), IsResend: false },
    ...{ Location: reading.location, VehicleSpeed: 30, Odometer: 10_000.5, Soc: 80.25, PackCurrent: -12.3 },
    ...{ PackVoltage: 390.2, Locked: true, Gear: 'ShiftStateD', DoorState: { DriverFront: false } },
  }),
  owntracks: ({ timestamp, location }) => ({
    ...{ _type: 'location', tid: 'JJ', t: 'u', tst: timestamp, lat: location?.latitude, lon: location?.longitude },
    ...{ cog: 271, acc: 5, vel: 61, vac: 21, alt: 167, batt: 67, topic: 'owntracks/a/b' },
  }),
  osmand: (reading) => ({
    location: {
      ...{ event: 'motionchange', is_moving: true, timestamp: isoTime(reading), odometer: 1500 },
      coords: { ...reading.location, accuracy: 3.8, heading: 63 },
      ...{ activity: { type: 'in_vehicle', confidence: 100 }, battery: { is_charging: false, level: 0.79 } },
    },
    device_id: '8737767034',
  }),
};

const distinctFrames = 10_000;

function decodeFrames(name: string, frame: (index: number) => CanFrame): () => number {
  const decode = compileDecoder(parseDbc(readDbc(name)).database);
  const frames = Array.from({ length: distinctFrames }, (_, index) => frame(index));
  return () => {
    let signals = 0;
    for (const one of frames) signals += decode(one).length;
    if (signals < frames.length) throw new Error(`only ${signals} signals in ${frames.length} frames`);
    return frames.length;
  };
}

const framesPerReading = 20;

/** Decodes frames as ingest does: from hexadecimal, readings of 20 frames, to values for `can`. */
function decodeFrameValues(name: string, frame: (index: number) => CanFrame): () => number {
  const { decode } = compileModelDatabase(readDbc(name).toString());
  const readings = Array.from({ length: distinctFrames / framesPerReading }, (_, reading) =>
    Array.from({ length: framesPerReading }, (_frame, index) => {
      const { id, isExtended, data } = frame(reading * framesPerReading + index);
      return { id: id.toString(16).padStart(isExtended ? 8 : 3, '0'), data: Buffer.from(data).toString('hex') };
    }),
  );
  return () => {
    for (const frames of readings) if (decode(frames).length === 0) throw new Error('a reading has no value');
    return distinctFrames;
  };
}

function readDbc(name: string): Buffer {
  return readFileSync(new URL(`../packages/codec/can/data/${name}.dbc`, import.meta.url));
}

/** The same bytes in every run, different ones for each frame. */
function bytesOf(index: number): Uint8Array {
  return Uint8Array.from({ length: 8 }, (_, byte) => Math.imul(index + 1, 0x9e3779b1) >>> (byte * 3));
}

const parameterGroups = [61444, 61443, 65265, 65262, 65266, 65253, 65276, 65269, 65217, 65271];

function j1939Frame(index: number): CanFrame {
  const pgn = parameterGroups[index % parameterGroups.length] ?? 0;
  return { id: (6 << 26) | (pgn << 8) | (index % 250), isExtended: true, data: bytesOf(index) };
}

const parameters = [0x01, 0x04, 0x05, 0x0c, 0x0d, 0x10, 0x11, 0x2f, 0x42, 0x5e];

function obd2Frame(index: number): CanFrame {
  const data = bytesOf(index);
  data.set([6, 0x41, parameters[index % parameters.length] ?? 0]);
  return { id: 0x7e8 + (index % 8), isExtended: false, data };
}

/** Prepares the input of every format. @returns functions that decode it and return the number of records */
function prepareDecoders(): Record<string, () => number> {
  const avl = (codec: AvlCodec) => decodeUploads('teltonika', (readings) => encodeAvlRecords(codec, readings));
  return {
    'Teltonika Codec 8': avl('codec8'),
    'Teltonika Codec 8 Extended': avl('codec8Extended'),
    'Teltonika Codec 16': avl('codec16'),
    ...Object.fromEntries(
      Object.entries(messages).map(([format, message]) => [
        format,
        decodeUploads(format as SourceFormatName, (readings) => JSON.stringify(readings.map(message))),
      ]),
    ),
    'native JSON': decodeUploads('native', (readings) => JSON.stringify(readings)),
    'native CBOR': decodeUploads('native', (readings) => Buffer.from(encodeCbor(readings))),
    'CAN frames, J1939': decodeFrames('j1939', j1939Frame),
    'CAN frames, OBD-II': decodeFrames('obd2', obd2Frame),
    'CAN frames of readings, J1939': decodeFrameValues('j1939', j1939Frame),
  };
}

/** Decodes for a time. @returns records a second of CPU, whatever else the machine does */
function measure(decode: () => number, seconds: number): number {
  const start = process.cpuUsage();
  const end = performance.now() + seconds * 1000;
  let records = 0;
  while (performance.now() < end) records += decode();
  const { user, system } = process.cpuUsage(start);
  return (records / (user + system)) * 1e6;
}

/** Required rate on one core, for CAN frames and for the codec that most devices use. */
const goalPerSecond = 300_000;

export const benchmark: Benchmark = {
  description: 'records/s that one core decodes, for each format',
  async run(parameters) {
    const { seconds, rounds } = readOptions(parameters, options);
    console.log(`machine   ${describeMachine()}\n`);
    const decoders = Object.entries(prepareDecoders());
    for (const [, decode] of decoders) measure(decode, seconds / 2);
    const contenders = decoders.map(([name, decode]) => [name, async () => measure(decode, seconds)] as const);
    const measured = await inTurns(Object.fromEntries(contenders), rounds);
    printRounds(measured, 'records/s a core');
    for (const [name, results] of Object.entries(measured)) {
      if (!/Extended|CAN/.test(name)) continue;
      console.log(
        `  ${name}: ${figure(median(results) / goalPerSecond)} of the goal of ${figure(goalPerSecond)} records/s`,
      );
    }
  },
};
