import { isLate, lateLane, liveLane, type UploadLane } from '@odograph/queue/upload-intake';

const timestampKey = Buffer.from('"timestamp"');
const zero = 48;
const nine = 57;
/** Colon and white space (RFC 8259, section 2). */
const between = new Set([58, 32, 9, 10, 13]);

/** The number after the last "timestamp" of a payload, UNIX seconds; undefined when there is none. */
function lastTimestamp(payload: Buffer): number | undefined {
  const key = payload.lastIndexOf(timestampKey);
  if (key === -1) return undefined;
  let at = key + timestampKey.length;
  while (between.has(payload[at] ?? zero)) at += 1;
  let seconds: number | undefined;
  for (let digit = payload[at]; digit !== undefined && digit >= zero && digit <= nine; at += 1, digit = payload[at]) {
    seconds = (seconds ?? 0) * 10 + (digit - zero);
  }
  return seconds;
}

/**
 * Chooses the lane of an upload by its last "timestamp". The bytes are not decoded here, and a wrong guess costs only
 * time.
 */
export function chooseLane(payload: Buffer, receivedAtMs: number): UploadLane {
  const seconds = lastTimestamp(payload);
  return seconds !== undefined && isLate(seconds, receivedAtMs) ? lateLane : liveLane;
}
