import { checkReadings, type DecodedTelemetry, spoiled } from '../readings.ts';
import { decodeAvlRecords } from './avl.ts';

/**
 * Decodes an upload of a Teltonika device: the data field of a packet, from codec id to second count. Never throws: what
 * does not follow the protocol becomes a fault.
 */
export function decodeTeltonika(data: Buffer): DecodedTelemetry {
  try {
    return checkReadings(decodeAvlRecords(data));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return spoiled({
      index: null,
      reason: 'MALFORMED',
      message: `the packet is not one of Teltonika's: ${error.message}`,
    });
  }
}

/** Returns the records of a data field as readings, unchecked; none when they cannot be read. */
export function readRecords(data: Buffer): unknown[] {
  try {
    return decodeAvlRecords(data);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/**
 * Reads the time of the first record of a data field, UNIX seconds, without decoding it; undefined when it is too short to
 * have one.
 */
export function firstRecordSeconds(data: Buffer): number | undefined {
  return data.length < 10 ? undefined : Number(data.readBigUInt64BE(2)) / 1000;
}
