import { crc16 } from '../teltonika/crc16.ts';

/**
 * Adds an offset below 66 ms, derived from the content of a message, to its time: vehicle and time identify a reading, and
 * a message must replace neither another message nor a record of the same time. Repeated, it has the same time.
 * @param seconds since the epoch
 */
export function distinctTime(seconds: number, content: Uint8Array): number {
  const checksum = crc16(content);
  // Never a whole millisecond, as the times of records are.
  const microseconds = Math.floor(checksum / 999) * 1000 + (checksum % 999) + 1;
  return seconds + microseconds / 1e6;
}
