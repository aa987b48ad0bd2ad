import { type DecodedReading, decodeTelemetry, type UploadFault } from '@odograph/codec/telemetry-json';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { maximumClockLeadSeconds } from '@odograph/contracts/telemetry';

/** Why an upload, or one of its readings, is in quarantine. */
export interface QuarantineFault extends Omit<UploadFault, 'reason'> {
  reason: UploadFault['reason'] | 'IN_THE_FUTURE' | 'DEVICE_NOT_LINKED' | 'NOT_STORABLE';
}

/** An upload on its way through the pipeline: each of its readings is either in `readings` or has a fault. */
export interface UploadInProgress {
  upload: QueuedUpload;
  readings: DecodedReading[];
  faults: QuarantineFault[];
}

/** Returns the bytes of an upload as the device sent them. */
export function uploadBytes(upload: QueuedUpload): Buffer {
  return upload.text !== undefined ? Buffer.from(upload.text, 'utf8') : Buffer.from(upload.base64 ?? '', 'base64');
}

/** Decodes the uploads of a batch. Readings too far ahead of `nowMs` become faults. */
export function decodeUploads(uploads: readonly QueuedUpload[], nowMs: number): UploadInProgress[] {
  const latest = (nowMs / 1000 + maximumClockLeadSeconds) * 1e6;
  return uploads.map((upload) => {
    const { readings, faults } = decodeTelemetry(upload.text ?? uploadBytes(upload));
    const future = readings.filter(({ timeMicroseconds }) => timeMicroseconds > latest);
    if (future.length === 0) return { upload, readings, faults };
    return {
      upload,
      readings: readings.filter(({ timeMicroseconds }) => timeMicroseconds <= latest),
      faults: [...faults, ...future.map(({ index }) => futureFault(index))],
    };
  });
}

function futureFault(index: number): QuarantineFault {
  const message = `timestamp is more than ${maximumClockLeadSeconds} s in the future`;
  return { index, reason: 'IN_THE_FUTURE', field: 'timestamp', message };
}
