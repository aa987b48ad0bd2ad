import { isUtf8 } from 'node:buffer';
import type { AvlFamily } from '@odograph/contracts/device-models';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { distinctTime } from '../shared/distinct-time.ts';
import { type RawReadings, UnreadableUpload } from '../shared/readings.ts';
import { addToCan } from '../shared/source-format.ts';
import { decodeAvlRecords, isAvlCodec } from './avl.ts';
import { type DeviceMessage, readMessages } from './commands.ts';

/**
 * Reads an upload of a Teltonika device: the data field of a packet, from codec id to second count.
 * @param receivedAtMs the time of messages without a timestamp
 * @param family of the device; undefined when its model has none
 * @throws UnreadableUpload for data that does not follow the protocol
 */
export function readTeltonika(data: Buffer, receivedAtMs: number, family: AvlFamily | undefined): RawReadings {
  const messages = readMessages(data);
  if (messages !== undefined)
    return { readings: messages.map((one) => readSerial(one, receivedAtMs)), absentValues: {} };
  try {
    return decodeAvlRecords(data, family);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnreadableUpload('MALFORMED', `the packet is not one of Teltonika's: ${error.message}`);
  }
}

/** Converts serial data to a reading. */
function readSerial({ bytes, seconds }: DeviceMessage, receivedAtMs: number): TelemetryReading {
  const data: { key: string; value: string }[] = [];
  const text = isUtf8(bytes) ? bytes.toString().replace(/[\s\0]+$/, '') : undefined;
  if (text !== undefined && !unprintable.test(text)) addToCan(data, 'serial_text', text);
  else addToCan(data, 'serial_hex', bytes.toString('hex'));
  const timestamp = distinctTime(seconds ?? receivedAtMs / 1000, bytes);
  return { timestamp, sensors: [{ name: 'serial', data }] };
}

const unprintable = /[^\P{C}\t\r\n]/u;

/** Whether a codec is one of records or messages. A packet of any other, such as Codec 7, must not be acknowledged. */
export function isKnownCodec(codec: number | undefined): boolean {
  return isAvlCodec(codec) || (codec !== undefined && codec >= 0x0c && codec <= 0x0f);
}

/** Reads the time of the first record of a data field, UNIX seconds; undefined when it has no record. */
export function firstRecordSeconds(data: Buffer): number | undefined {
  return data.length < 10 || !isAvlCodec(data[0]) ? undefined : Number(data.readBigUInt64BE(2)) / 1000;
}
