import type { Database } from '@odograph/database/database';
import { quarantineContext, type Sealer } from '@odograph/runtime/sealing';
import { sql } from 'kysely';
import { groupBy } from '../group-by.ts';
import { type UploadInProgress, uploadBytes } from '../upload/decode-uploads.ts';
import { quotaWindowMs, senderOf } from './quarantine-quota.ts';

interface SealedUpload {
  deviceId: string;
  received: Date;
  format: string;
  applicationId: number | null;
  bytes: number;
  sealed: Buffer;
  fingerprint: Buffer;
  faults: string;
}

function sealUpload({ upload, faults }: UploadInProgress, sealer: Sealer): SealedUpload {
  const bytes = uploadBytes(upload);
  return {
    deviceId: upload.deviceId,
    received: new Date(upload.receivedAtMs),
    format: upload.format ?? 'native',
    applicationId: upload.applicationId ?? null,
    bytes: bytes.length,
    sealed: sealer.seal(bytes, quarantineContext(upload.deviceId)),
    fingerprint: sealer.fingerprint(ownBytes(upload, bytes)),
    faults: JSON.stringify(faults),
  };
}

/** Bytes that only the same upload has: those of a source are apart from the device's own and from other applications. */
function ownBytes({ applicationId }: UploadInProgress['upload'], bytes: Buffer): Buffer {
  return applicationId === undefined ? bytes : Buffer.concat([Buffer.from(`application ${applicationId} `), bytes]);
}

/** Removes repetitions of the same bytes by the same device, so that a device that repeats itself adds one row. */
function distinctUploads(uploads: readonly SealedUpload[]): SealedUpload[] {
  const distinct = new Map(uploads.map((one) => [`${one.deviceId} ${one.fingerprint.toString('hex')}`, one]));
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Stores sealed uploads with their faults. Repeated bytes increase a count instead. */
export async function quarantineUploads(
  db: Database,
  sealer: Sealer,
  uploads: readonly UploadInProgress[],
): Promise<void> {
  if (uploads.length === 0) return;
  const rows = distinctUploads(uploads.map((upload) => sealUpload(upload, sealer)));
  await sql`
    insert into quarantine (device_id, received_at, format, application_id, payload_bytes, sealed_payload,
      payload_fingerprint, faults)
    select * from unnest(${rows.map(({ deviceId }) => deviceId)}::text[],
      ${rows.map(({ received }) => received)}::timestamptz[], ${rows.map(({ format }) => format)}::text[],
      ${rows.map(({ applicationId }) => applicationId)}::integer[],
      ${rows.map(({ bytes }) => bytes)}::integer[],
      ${rows.map(({ sealed }) => sealed)}::bytea[], ${rows.map(({ fingerprint }) => fingerprint)}::bytea[],
      ${rows.map(({ faults }) => faults)}::jsonb[])
    on conflict (device_id, payload_fingerprint) do update set
      faults = excluded.faults, times_seen = quarantine.times_seen + 1, resolved_at = null`.execute(db);
}

/**
 * Counts uploads beyond the quota in one row for each device and hour, without payload: `times_seen` is their number. The
 * replay of all unresolved uploads skips empty payloads.
 */
export async function countDropped(
  db: Database,
  sealer: Sealer,
  uploads: readonly UploadInProgress[],
  nowMs: number,
): Promise<void> {
  if (uploads.length === 0) return;
  const hour = Math.floor(nowMs / quotaWindowMs);
  const fault = { index: null, reason: 'QUOTA_EXCEEDED', message: 'uploads beyond the quarantine quota of the device' };
  const rows = [...groupBy(uploads, senderOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [first, ...others]]) => (first === undefined ? [] : [{ ...first.upload, times: others.length + 1 }]));
  const empty = Buffer.alloc(0);
  await sql`
    insert into quarantine (device_id, application_id, received_at, payload_bytes, sealed_payload, payload_fingerprint,
      faults, times_seen)
    select device_id, application_id, to_timestamp(${nowMs} / 1000.0), 0, sealed, fingerprint,
      ${JSON.stringify([fault])}::jsonb, times_seen
    from unnest(${rows.map(({ deviceId }) => deviceId)}::text[],
      ${rows.map(({ applicationId }) => applicationId ?? null)}::integer[],
      ${rows.map(({ deviceId }) => sealer.seal(empty, quarantineContext(deviceId)))}::bytea[],
      ${rows.map(({ applicationId }) => Buffer.from(`dropped in hour ${hour}${applicationId === undefined ? '' : ` of ${applicationId}`}`))}::bytea[],
      ${rows.map(({ times }) => times)}::integer[]) as dropped (device_id, application_id, sealed, fingerprint, times_seen)
    on conflict (device_id, payload_fingerprint) do update set
      times_seen = quarantine.times_seen + excluded.times_seen`.execute(db);
}

/** Marks replayed uploads as resolved that were stored without a fault; a part of an upload says nothing of the rest. */
export async function resolveQuarantined(db: Database, uploads: readonly UploadInProgress[]): Promise<void> {
  const ids = uploads
    .filter(({ upload, faults, isPart }) => upload.quarantineId !== undefined && faults.length === 0 && !isPart)
    .map(({ upload }) => Number(upload.quarantineId));
  if (ids.length === 0) return;
  await db.updateTable('quarantine').set({ resolved_at: sql<Date>`now()` }).where('id', 'in', ids).execute();
}
