import { readElements } from '@odograph/codec/native/telemetry';
import type { DecodedReading, DecodedTelemetry, UploadFault } from '@odograph/codec/readings';
import { decodeUpload } from '@odograph/codec/uploads';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { maximumClockLeadSeconds } from '@odograph/contracts/telemetry';

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

const dayMicroseconds = 86_400_000_000;

/**
 * Decodes the uploads of a batch. Readings too far ahead of `nowMs` and readings older than `maximumAgeDays` become faults.
 * Replays and imports have no age limit: the operator decided to store them.
 */
export function decodeUploads(
  uploads: readonly QueuedUpload[],
  nowMs: number,
  maximumAgeDays = Number.POSITIVE_INFINITY,
): UploadInProgress[] {
  const latest = (nowMs / 1000 + maximumClockLeadSeconds) * 1e6;
  return uploads.map((upload) => {
    const { format = 'native', text, receivedAtMs } = upload;
    const decoded = { upload, ...decodeUpload(format, text ?? uploadBytes(upload), receivedAtMs) };
    const isLimited = upload.quarantineId === undefined && !upload.isImport;
    const oldest = isLimited ? nowMs * 1000 - maximumAgeDays * dayMicroseconds : 0;
    return rejectReadings(decoded, ({ index, timeMicroseconds }) => {
      if (timeMicroseconds > latest) return futureFault(index);
      return timeMicroseconds < oldest ? ageFault(index, maximumAgeDays) : undefined;
    });
  });
}

/** Returns the readings of an upload in the platform's own format as the device sent them, unchecked; of others, none. */
export function uncheckedReadings(upload: QueuedUpload): unknown[] {
  const { format = 'native', text } = upload;
  return format === 'native' ? readElements(text ?? uploadBytes(upload)) : [];
}

/** Moves the readings for which `findFault` returns a fault from the readings of an upload to its faults. */
export function rejectReadings(
  inProgress: UploadInProgress,
  findFault: (reading: DecodedReading) => QuarantineFault | undefined,
): UploadInProgress {
  const rejected: QuarantineFault[] = [];
  const readings = inProgress.readings.filter((reading) => {
    const fault = findFault(reading);
    if (fault) rejected.push(fault);
    return fault === undefined;
  });
  if (rejected.length === 0) return inProgress;
  return { ...inProgress, readings, faults: [...inProgress.faults, ...rejected] };
}

function futureFault(index: number): QuarantineFault {
  const message = `timestamp is more than ${maximumClockLeadSeconds} s in the future`;
  return { index, reason: 'IN_THE_FUTURE', field: 'timestamp', message };
}

function ageFault(index: number, days: number): QuarantineFault {
  return { index, reason: 'TOO_OLD', field: 'timestamp', message: `timestamp is more than ${days} days in the past` };
}
