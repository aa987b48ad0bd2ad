import { isUtf8 } from 'node:buffer';
import type { AvlFamily } from '@odograph/contracts/device-models';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { checkReadings, type DecodedTelemetry, spoiled } from '../shared/readings.ts';
import { addToCan } from '../shared/source-format.ts';
import { type AvlRecords, decodeAvlRecords, isAvlCodec } from './avl.ts';
import { type DeviceMessage, readMessages } from './commands.ts';
import { crc16 } from './crc16.ts';

/**
 * Decodes an upload of a Teltonika device: the data field of a packet, from codec id to second count. Never throws: what
 * does not follow the protocol becomes a fault.
 * @param receivedAtMs the time of messages without a timestamp
 * @param family of the device; undefined when its model has none
 */
export function decodeTeltonika(data: Buffer, receivedAtMs = 0, family?: AvlFamily): DecodedTelemetry {
  try {
    const { readings, absentValues } = decodeData(data, receivedAtMs, family);
    return { ...checkReadings(readings), absentValues };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return spoiled({
      index: null,
      reason: 'MALFORMED',
      message: `the packet is not one of Teltonika's: ${error.message}`,
    });
  }
}

/** @throws RangeError for data that cannot be read */
function decodeData(data: Buffer, receivedAtMs: number, family: AvlFamily | undefined): AvlRecords {
  const messages = readMessages(data);
  if (messages === undefined) return decodeAvlRecords(data, family);
  return { readings: messages.map((message) => readSerial(message, receivedAtMs)), absentValues: {} };
}

/** Converts serial data to a reading. An offset below 66 ms, derived from its content, is added to its time: vehicle and
 * time identify a reading, and a message must replace neither another message nor a record of the same second.
 */
function readSerial({ bytes, seconds }: DeviceMessage, receivedAtMs: number): TelemetryReading {
  const checksum = crc16(bytes);
  const microseconds = Math.floor(checksum / 999) * 1000 + (checksum % 999) + 1;
  const data: { key: string; value: string }[] = [];
  const text = isUtf8(bytes) ? bytes.toString().replace(/[\s\0]+$/, '') : undefined;
  if (text !== undefined && !unprintable.test(text)) addToCan(data, 'serial_text', text);
  else addToCan(data, 'serial_hex', bytes.toString('hex'));
  return { timestamp: (seconds ?? receivedAtMs / 1000) + microseconds / 1e6, sensors: [{ name: 'serial', data }] };
}

const unprintable = /[^\P{C}\t\r\n]/u;

/** Returns the readings of a data field, unchecked; none when they cannot be read. */
export function readRecords(data: Buffer, receivedAtMs = 0, family?: AvlFamily): unknown[] {
  try {
    return decodeData(data, receivedAtMs, family).readings;
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/**
 * Whether a codec is one of records, or of messages. Others, such as Codec 7 of the GH3000, are not read: a packet of
 * theirs must not be acknowledged.
 */
export function isKnownCodec(codec: number | undefined): boolean {
  return isAvlCodec(codec) || (codec !== undefined && codec >= 0x0c && codec <= 0x0f);
}

/**
 * Reads the time of the first record of a data field, UNIX seconds, without decoding it; undefined when it is too short to
 * have one, or has no records.
 */
export function firstRecordSeconds(data: Buffer): number | undefined {
  return data.length < 10 || !isAvlCodec(data[0]) ? undefined : Number(data.readBigUInt64BE(2)) / 1000;
}
