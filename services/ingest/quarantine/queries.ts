import { createHash } from 'node:crypto';
import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';
import { type UploadInProgress, uploadBytes } from '../upload/decode-batch.ts';

/** The same bytes of the same device are one row, so that a device that repeats itself fills nothing. */
function distinctUploads(
  uploads: readonly UploadInProgress[],
): Map<string, { upload: UploadInProgress; bytes: Buffer }> {
  const distinct = new Map<string, { upload: UploadInProgress; bytes: Buffer }>();
  for (const upload of uploads) {
    const bytes = uploadBytes(upload.upload);
    const digest = createHash('sha256').update(bytes).digest('hex');
    distinct.set(`${upload.upload.deviceId} ${digest}`, { upload, bytes });
  }
  return distinct;
}

/** Keeps uploads with faults, byte for byte with every reason; bytes that are there already are counted. */
export async function quarantineUploads(db: Database, uploads: readonly UploadInProgress[]): Promise<void> {
  const distinct = [...distinctUploads(uploads)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  if (distinct.length === 0) return;
  const devices = distinct.map(({ upload }) => upload.upload.deviceId);
  const received = distinct.map(({ upload }) => new Date(upload.upload.receivedAtMs));
  const payloads = distinct.map(({ bytes }) => bytes);
  const faults = distinct.map(({ upload }) => JSON.stringify(upload.faults));
  await sql`
    insert into quarantine (device_id, received_at, payload, payload_sha256, faults)
    select device_id, received_at, payload, sha256(payload), faults
    from unnest(${devices}::text[], ${received}::timestamptz[], ${payloads}::bytea[], ${faults}::jsonb[])
      as incoming (device_id, received_at, payload, faults)
    on conflict (device_id, payload_sha256) do update set
      faults = excluded.faults, times_seen = quarantine.times_seen + 1, resolved_at = null`.execute(db);
}

/** Marks replayed uploads that are now stored without a fault. */
export async function resolveQuarantined(db: Database, uploads: readonly UploadInProgress[]): Promise<void> {
  const ids = uploads
    .filter(({ upload, faults }) => upload.quarantineId !== undefined && faults.length === 0)
    .map(({ upload }) => Number(upload.quarantineId));
  if (ids.length === 0) return;
  await db.updateTable('quarantine').set({ resolved_at: sql<Date>`now()` }).where('id', 'in', ids).execute();
}
