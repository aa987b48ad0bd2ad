import { crc16 } from '../teltonika/crc16.ts';

/**
 * Makes the time of a message distinct by an offset below 66 ms, derived from its content. Vehicle and time identify a
 * reading, so a message with the time of another message or of a record would replace it. The same message always gets the
 * same time.
 * @param seconds since the epoch
 */
export function distinctTime(seconds: number, content: Uint8Array): number {
  const checksum = crc16(content);
  // Never a whole number of milliseconds: the times of records are.
  const microseconds = Math.floor(checksum / 999) * 1000 + (checksum % 999) + 1;
  return seconds + microseconds / 1e6;
}
