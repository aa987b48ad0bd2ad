import { lateUploadPriority } from '@odograph/contracts/queues';
import type { Backlog } from './backlog.ts';

/** How uploads of one kind come into the queue. */
export interface UploadLane {
  /** BullMQ's: what has none goes before everything that has one. */
  readonly priority: number | undefined;
  /** Bytes of a job. */
  readonly maximumBatchBytes: number;
  /** Enough to keep Redis busy while it writes to disk; more would only make more of the memory that is held. */
  readonly maximumBatchesInFlight: number;
  /** Whether nothing of this kind may be queued now. */
  full(backlog: Backlog): boolean;
}

export const liveLane: UploadLane = {
  priority: undefined,
  maximumBatchBytes: 1024 ** 2,
  maximumBatchesInFlight: 4,
  full: (backlog) => backlog.full,
};

/** Recordings of before: they wait behind all that is live, in jobs that are short enough for it to come in between. */
export const lateLane: UploadLane = {
  priority: lateUploadPriority,
  maximumBatchBytes: 256 * 1024,
  maximumBatchesInFlight: 2,
  full: (backlog) => backlog.full || backlog.lateFull,
};

/** An upload whose last reading is older than this was recorded while the device was away. */
const lateAfterSeconds = 300;

const timestampKey = Buffer.from('"timestamp"');
const zero = 48;
const nine = 57;
/** Colon and white space (RFC 8259, section 2). */
const between = new Set([58, 32, 9, 10, 13]);

/** The number behind the last "timestamp" of a payload, UNIX seconds; undefined when there is none. */
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
 * The lane of an upload, by a glance at its bytes: they are decoded only after they are in the queue, and a wrong guess
 * costs time alone.
 */
export function laneOf(payload: Buffer, receivedAtMs: number): UploadLane {
  const seconds = lastTimestamp(payload);
  return seconds !== undefined && seconds < receivedAtMs / 1000 - lateAfterSeconds ? lateLane : liveLane;
}
