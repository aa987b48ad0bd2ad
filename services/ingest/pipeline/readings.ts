import type { DecodedReading, DecodedTelemetry, UploadFault } from '@odograph/codec/shared/readings';
import { readUpload } from '@odograph/codec/uploads';
import type { QueuedUpload } from '@odograph/contracts/queues';
import type { CanDatum, TelemetryReading } from '@odograph/contracts/telemetry';

/** Why an upload, or one of its readings, is in quarantine. */
export interface QuarantineFault extends Omit<UploadFault, 'reason'> {
  reason:
    | UploadFault['reason']
    | 'IN_THE_FUTURE'
    | 'TOO_OLD'
    | 'TOO_MANY_CHUNKS'
    | 'DEVICE_NOT_LINKED'
    | 'NOT_STORABLE';
}

/** An upload on its way through the pipeline: each of its readings is either in `readings` or has a fault. */
export interface UploadInProgress {
  upload: QueuedUpload;
  readings: DecodedReading[];
  faults: QuarantineFault[];
  absentValues?: DecodedTelemetry['absentValues'];
  /** Set when it holds only some of the readings, because the database rejected one of them. */
  isPart?: true;
}

/** Returns the bytes of an upload as the device sent them. */
export function uploadBytes(upload: QueuedUpload): Buffer {
  return upload.text !== undefined ? Buffer.from(upload.text, 'utf8') : Buffer.from(upload.base64 ?? '', 'base64');
}

/** Returns the readings of an upload in the platform's own format as the device sent them, unchecked; of others, none. */
export function uncheckedReadings(upload: QueuedUpload): readonly unknown[] {
  const { format = 'native', text, receivedAtMs } = upload;
  return format === 'native' ? readUpload(format, text ?? uploadBytes(upload), receivedAtMs) : [];
}

/** Half-open, microseconds since the epoch. */
export interface Interval {
  fromMicroseconds: number;
  untilMicroseconds: number;
}

/** Returns whether a device time lies in an interval. */
export function isWithin({ fromMicroseconds, untilMicroseconds }: Interval, timeMicroseconds: number): boolean {
  return fromMicroseconds <= timeMicroseconds && timeMicroseconds < untilMicroseconds;
}

/** Returns whether a device time lies in one of these privacy intervals. */
export function isPrivateAt(privacyIntervals: readonly Interval[], timeMicroseconds: number): boolean {
  return privacyIntervals.some((interval) => isWithin(interval, timeMicroseconds));
}

/** A reading with the vehicle it belongs to. */
export interface LinkedReading {
  vehicleId: number;
  applicationId: number;
  deviceId: string;
  timeMicroseconds: number;
  receivedAtMs: number;
  reading: TelemetryReading;
  /** Values of its frames, without those that the device gave itself; undefined without frames or a CAN database. */
  decodedCan?: readonly CanDatum[];
  /** Intervals in which positions of the vehicle are private. */
  privacyIntervals: readonly Interval[];
}

/** Returns a reading whose `can` has the values of the device, then those decoded from its frames. */
export function withDecodedCan({ reading, decodedCan = [] }: LinkedReading): TelemetryReading {
  return decodedCan.length === 0 ? reading : { ...reading, can: [...(reading.can ?? []), ...decodedCan] };
}

export interface Position {
  latitude: number;
  longitude: number;
}

/** The parking position since a device time in microseconds since the epoch; no location while the ignition is on. */
export interface Parked {
  location: Position | null;
  sinceMicroseconds: number;
}

/** The state of a vehicle before this batch. */
export interface PreviousState {
  vehicleId: number;
  /** Device time of its newest reading; undefined without readings. */
  newestMicroseconds: number | undefined;
  parked: Parked | undefined;
}

/** Groups values by a key, in their order. Map.groupBy, which Node.js 20 lacks. */
export function groupBy<Key, Value>(values: Iterable<Value>, keyOf: (value: Value) => Key): Map<Key, Value[]> {
  const groups = new Map<Key, Value[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}
