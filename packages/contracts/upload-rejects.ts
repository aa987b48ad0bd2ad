import Type, { type Static } from 'typebox';

const RejectedReading = Type.Object({
  index: Type.Union([Type.Integer(), Type.Null()], {
    description: 'position of the reading in the upload; null: the whole upload',
  }),
  reason: Type.String(),
  field: Type.Optional(Type.String()),
  message: Type.String({ description: 'for people' }),
  timestamp: Type.Optional(Type.Number({ description: 'as the device sent it, if it is a number' })),
  sequence: Type.Optional(Type.Number()),
});
/** A reading, or a whole upload, that went to quarantine, as its device is told; see "Rejected uploads" in docs/device-protocol.md. */
export type RejectedReading = Static<typeof RejectedReading>;

/** What a device receives on its topic `rejects`: one message for an upload. */
export const RejectMessage = Type.Object({
  receivedAt: Type.Number({ description: 'UNIX seconds' }),
  bytes: Type.Integer({ description: 'size of the upload' }),
  faultCount: Type.Integer({ description: 'faults of the upload, of which the first are listed' }),
  faults: Type.Array(RejectedReading),
});
export type RejectMessage = Static<typeof RejectMessage>;

/** One message for the topic of a device. */
export interface UploadReject {
  readonly deviceId: string;
  readonly message: RejectMessage;
}

/** Redis channel on which ingest announces rejected uploads to the brokers, as a JSON array of UploadReject. */
export function uploadRejectsChannel(prefix: string): string {
  return `${prefix}:upload-rejects`;
}
