import { isCbor } from '@odograph/codec/native/cbor';
import type { UploadFormat } from '@odograph/contracts/queues';
import { isLate, lateLane, liveLane, type UploadLane } from '@odograph/queue/intake';

const timestampKey = Buffer.from('"timestamp"');
/** OwnTracks, "JSON". */
const ownTracksKey = Buffer.from('"tst"');
const zero = 48;
const nine = 57;
/** Colon and white space (RFC 8259, section 2). */
const between = new Set([58, 32, 9, 10, 13]);

/** The number after the last key of a payload in JSON, UNIX seconds; undefined when there is none. */
function lastTimestamp(payload: Buffer, key: Buffer): number | undefined {
  const start = payload.lastIndexOf(key);
  if (start === -1) return undefined;
  let at = start + key.length;
  while (between.has(payload[at] ?? zero)) at += 1;
  let seconds: number | undefined;
  for (let digit = payload[at]; digit !== undefined && digit >= zero && digit <= nine; at += 1, digit = payload[at]) {
    seconds = (seconds ?? 0) * 10 + (digit - zero);
  }
  return seconds;
}

/** Heads of an unsigned integer of 32 bits, and of floats of 32 and 64 bits (RFC 8949, section 3). */
const head = { uint32: 0x1a, float32: 0xfa, float64: 0xfb };
/** The number that stands for `timestamp`, and the last letter of the name itself. */
const keyEnds = new Set([0, 'p'.charCodeAt(0)]);
/** September 2001. A smaller number is none of a clock that was set. */
const minSeconds = 1e9;
const daySeconds = 86_400;

/** The last number of a payload in CBOR that follows what can be the key `timestamp` and is a time in the past. */
function lastCborTimestamp(payload: Buffer, receivedAtMs: number): number | undefined {
  const latest = receivedAtMs / 1000 + daySeconds;
  for (let at = payload.length - 5; at > 0; at -= 1) {
    if (!keyEnds.has(payload[at - 1] ?? -1)) continue;
    const seconds = numberAt(payload, at);
    if (seconds !== undefined && seconds >= minSeconds && seconds <= latest) return seconds;
  }
  return undefined;
}

/** @param at with at least four bytes behind it */
function numberAt(payload: Buffer, at: number): number | undefined {
  if (payload[at] === head.uint32) return payload.readUInt32BE(at + 1);
  if (payload[at] === head.float32) return payload.readFloatBE(at + 1);
  return payload[at] === head.float64 && at + 9 <= payload.length ? payload.readDoubleBE(at + 1) : undefined;
}

/**
 * Chooses the lane of an upload by its last time. The bytes are not decoded here, and a wrong guess costs only time.
 * @param format undefined for the platform's own
 */
export function chooseLane(payload: Buffer, receivedAtMs: number, format?: UploadFormat): UploadLane {
  const seconds =
    format === 'owntracks'
      ? lastTimestamp(payload, ownTracksKey)
      : isCbor(payload)
        ? lastCborTimestamp(payload, receivedAtMs)
        : lastTimestamp(payload, timestampKey);
  return seconds !== undefined && isLate(seconds, receivedAtMs) ? lateLane : liveLane;
}
