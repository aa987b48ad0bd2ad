import { readFileSync } from 'node:fs';
import { decodeUpload } from '@odograph/codec/uploads';
import { type CanFrame, compileDecoder, compileModelDatabase } from '../../packages/codec/can/decode.ts';
import { parseDbc } from '../../packages/codec/can/parse-dbc.ts';
import { encodeCbor } from '../../packages/codec/native/cbor.ts';
import { type AvlCodec, encodeAvlRecords } from '../../packages/codec/teltonika/encode.ts';
import type { UploadFormat } from '../../packages/contracts/queues.ts';
import type { SourceFormatName } from '../../packages/contracts/sources.ts';
import type { TelemetryReading } from '../../packages/contracts/telemetry.ts';

/** A format with records to decode. */
export interface BenchedFormat {
  readonly name: string;
  /** Records a second on one core that are asked for. */
  readonly goal?: number;
  /** Prepares the input. @returns a function that decodes some of it and returns the number of records */
  prepare(): () => number;
}

/** Distinct uploads, so that nothing is remembered. */
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

const teltonika = (name: string, codec: AvlCodec, goal?: number): BenchedFormat => ({
  name,
  ...(goal !== undefined && { goal }),
  prepare: () => decodeUploads('teltonika', (readings) => encodeAvlRecords(codec, readings)),
});

/** Messages of 20 records of one device, as the queue has them. @param message one record as its system sends it */
const source = (format: SourceFormatName, message: (reading: TelemetryReading) => object): BenchedFormat => ({
  name: format,
  prepare: () => decodeUploads(format, (readings) => JSON.stringify(readings.map(message))),
});

const isoTime = ({ timestamp }: TelemetryReading) => new Date(Math.round(timestamp * 1000)).toISOString();

const sources: readonly BenchedFormat[] = [
  source('traccar', (reading) => ({
    position: {
      ...{ id: 10, deviceId: 3, protocol: 'teltonika', deviceTime: isoTime(reading), fixTime: isoTime(reading) },
      ...{ outdated: false, valid: true, course: 90, accuracy: 0, network: null },
      ...reading.location,
      attributes: {
        ignition: true,
        motion: true,
        odometer: 12_345_678,
        sat: 9,
        rpm: 2100,
        hours: 3_600_000,
        blocked: false,
      },
    },
    device: { id: 3, name: 'Van', uniqueId: '350000000000001', status: 'online' },
  })),
  source('flespi', ({ timestamp, location }) => ({
    ...{ ident: '350000000000001', timestamp, 'position.latitude': location?.latitude },
    ...{ 'position.longitude': location?.longitude, 'position.speed': 52, 'position.satellites': 9 },
    ...{ 'position.direction': 262.643854, 'position.altitude': 233.48, 'vehicle.mileage': 160 },
    ...{ 'engine.ignition.status': true, 'immobilizer.status': false, 'battery.voltage': 4.1 },
  })),
  source('tesla', (reading) => ({
    ...{ Vin: '5YJ3E1EA7KF000001', CreatedAt: isoTime(reading), IsResend: false },
    ...{ Location: reading.location, VehicleSpeed: 30, Odometer: 10_000.5, Soc: 80.25, PackCurrent: -12.3 },
    ...{ PackVoltage: 390.2, Locked: true, Gear: 'ShiftStateD', DoorState: { DriverFront: false } },
  })),
  source('owntracks', ({ timestamp, location }) => ({
    ...{ _type: 'location', tid: 'JJ', t: 'u', tst: timestamp, lat: location?.latitude, lon: location?.longitude },
    ...{ cog: 271, acc: 5, vel: 61, vac: 21, alt: 167, batt: 67, topic: 'owntracks/a/b' },
  })),
  source('osmand', (reading) => ({
    location: {
      ...{ event: 'motionchange', is_moving: true, timestamp: isoTime(reading), odometer: 1500 },
      coords: { ...reading.location, accuracy: 3.8, heading: 63 },
      ...{ activity: { type: 'in_vehicle', confidence: 100 }, battery: { is_charging: false, level: 0.79 } },
    },
    device_id: '8737767034',
  })),
];

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
  return readFileSync(new URL(`../../packages/codec/can/data/${name}.dbc`, import.meta.url));
}

/** The same bytes in every run, and other ones for every frame. */
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

const canGoal = 300_000;
const teltonikaGoal = 300_000;

/** Every format, with its goal where there is one. */
export const benchedFormats: readonly BenchedFormat[] = [
  teltonika('Teltonika Codec 8', 'codec8'),
  teltonika('Teltonika Codec 8 Extended', 'codec8Extended', teltonikaGoal),
  teltonika('Teltonika Codec 16', 'codec16'),
  ...sources,
  { name: 'native JSON', prepare: () => decodeUploads('native', (readings) => JSON.stringify(readings)) },
  {
    name: 'native CBOR',
    prepare: () => decodeUploads('native', (readings) => Buffer.from(encodeCbor(readings))),
  },
  { name: 'CAN frames, J1939', goal: canGoal, prepare: () => decodeFrames('j1939', j1939Frame) },
  { name: 'CAN frames, OBD-II', goal: canGoal, prepare: () => decodeFrames('obd2', obd2Frame) },
  { name: 'CAN frames of readings, J1939', goal: canGoal, prepare: () => decodeFrameValues('j1939', j1939Frame) },
];
