/** A reading, or a whole upload, that went to quarantine, as its device is told; see "Rejected uploads" in docs/device-protocol.md. */
export interface RejectedReading {
  /** Position of the reading in the upload; null: the whole upload. */
  readonly index: number | null;
  readonly reason: string;
  readonly field?: string;
  readonly message: string;
  /** As the device sent it, if it is a number. */
  readonly timestamp?: number;
  readonly sequence?: number;
}

/** What a device receives on its topic `rejects`: one message for an upload. */
export interface RejectMessage {
  /** UNIX seconds. */
  readonly receivedAt: number;
  /** Size of the upload. */
  readonly bytes: number;
  /** Number of faults of the upload, of which the first are listed. */
  readonly faultCount: number;
  readonly faults: readonly RejectedReading[];
}

/** One message for the topic of a device. */
export interface UploadReject {
  readonly deviceId: string;
  readonly message: RejectMessage;
}

/** Redis channel on which ingest announces rejected uploads to the brokers, as a JSON array of UploadReject. */
export function uploadRejectsChannel(prefix: string): string {
  return `${prefix}:upload-rejects`;
}
