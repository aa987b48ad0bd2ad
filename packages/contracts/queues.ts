import { type AvlFamily, avlFamilies } from './device-models.ts';
import { sourceFormatNames } from './sources.ts';

/**
 * The format of an upload: the platform's own, JSON or CBOR (docs/device-protocol.md), or the one in which other devices
 * and systems report (docs/devices).
 */
export const uploadFormats = [
  ...(['native', 'teltonika'] as const),
  ...avlFamilies.map(teltonikaFormat),
  ...sourceFormatNames,
] as const;
export type UploadFormat = (typeof uploadFormats)[number];

/** Returns the format of the uploads of Teltonika devices of a family; without one, that of devices of an unknown family. */
export function teltonikaFormat(family: AvlFamily | undefined): 'teltonika' | `teltonika-${AvlFamily}` {
  return family === undefined ? 'teltonika' : `teltonika-${family}`;
}

/**
 * One upload as it was received: as text if it is UTF-8, otherwise in base64. Without `format` it has the platform's own.
 * `applicationId` is the only application that its readings may belong to, where a source of that application sent it;
 * `quarantineId` marks the replay of a quarantined upload, `isImport` history that an operator imports.
 */
export interface QueuedUpload {
  deviceId: string;
  receivedAtMs: number;
  format?: UploadFormat;
  applicationId?: number;
  text?: string;
  base64?: string;
  quarantineId?: string;
  isImport?: true;
}

/** A batch of uploads. `devices` and `bytes` describe it where its payloads must not be shown. */
export interface UploadBatch {
  uploads: QueuedUpload[];
  devices: number;
  bytes: number;
}

/** One acknowledgement as the device sent it. */
export interface QueuedAcknowledgement {
  deviceId: string;
  receivedAtMs: number;
  text: string;
}

/** Returns the Redis channel on which acknowledgements are published as JSON when they are queued. */
export function acknowledgementsChannel(prefix: string): string {
  return `${prefix}:acknowledgements`;
}

export type MaintenanceTask =
  | 'compress'
  | 'retain'
  | 'count'
  | 'forget'
  | 'vacuum'
  | 'rewrite'
  | 'purge'
  | 'redecode'
  | 'reports';

/** An export that is written to a file: its parameters as the client gave them, and who asked. */
export interface ExportJob {
  applicationId: number;
  /** In user mode. */
  userId?: string;
  vehicleId?: number;
  /** Only vehicles of this group. */
  group?: string;
  of: 'readings' | 'trips' | 'gaps';
  format: 'csv' | 'ndjson' | 'gpx' | 'geojson' | 'parquet';
  /** ISO 8601. */
  from: string;
  until: string;
  fields?: string;
  /** Adds addresses to trips. */
  address?: true;
  /** It was deleted while it ran. */
  isDeleted?: true;
}

/** Every queue with the data of its jobs. */
export interface QueueJobs {
  uploads: UploadBatch;
  /** Late uploads, and live ones that would otherwise wait for late ones or for the compression of a week. */
  'late-uploads': UploadBatch;
  acknowledgements: QueuedAcknowledgement;
  maintenance: { task: MaintenanceTask };
  /** Triggers a run of trip segmentation; the pending work is in the database. */
  trips: Record<string, never>;
  /** Triggers a check for silent devices and unanswered commands. */
  alarms: Record<string, never>;
  exports: ExportJob;
}
export type QueueName = keyof QueueJobs;
export const queueNames = [
  'uploads',
  'late-uploads',
  'acknowledgements',
  'maintenance',
  'trips',
  'alarms',
  'exports',
] as const satisfies readonly QueueName[];
