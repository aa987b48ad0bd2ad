import { isUtf8 } from 'node:buffer';
import type { Operator } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { QueuedUpload } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { countUnfinishedJobs, type TypedQueue } from '@odograph/queue/queues';
import { quarantineContext, type Sealer } from '@odograph/runtime/sealing';
import { findLastId, findPayloads, findUnresolvedPayloads, requirePresent, type SealedUpload } from './queries.ts';

/** Uploads have at most 256 KiB, so a job stays within 8 MiB. */
const uploadsPerJob = 32;

export interface ReplayTarget {
  readonly sealer: Sealer;
  readonly queue: TypedQueue<'uploads'>;
  /** With more jobs waiting, a replay is refused: it must not delay uploads from devices. */
  readonly maximumBacklogJobs: number;
}

/** Rebuilds the upload byte for byte as it was received. */
function describeUpload(upload: SealedUpload, payload: Buffer): QueuedUpload {
  const { id, deviceId, receivedAtMs, format, applicationId } = upload;
  const origin = {
    ...{ deviceId, receivedAtMs: Math.floor(receivedAtMs), format, quarantineId: String(id) },
    ...(applicationId !== null && { applicationId }),
  };
  return { ...origin, ...(isUtf8(payload) ? { text: payload.toString() } : { base64: payload.toString('base64') }) };
}

async function enqueue({ queue, sealer, maximumBacklogJobs }: ReplayTarget, uploads: SealedUpload[]): Promise<void> {
  if (uploads.length === 0) return;
  const payloads = uploads.map(({ deviceId, sealed }) => sealer.open(sealed, quarantineContext(deviceId)));
  try {
    const waiting = await countUnfinishedJobs(queue);
    if (waiting > maximumBacklogJobs) throw new Failure('OVERLOADED', 'too many uploads are waiting to be stored');
    await queue.add('uploads', {
      uploads: uploads.map((upload, index) => describeUpload(upload, payloads[index] ?? Buffer.alloc(0))),
      devices: new Set(uploads.map(({ deviceId }) => deviceId)).size,
      bytes: payloads.reduce((sum, payload) => sum + payload.length, 0),
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure('OVERLOADED', 'the queue is unavailable', { retryAfterSeconds: 5 }, { cause });
  }
}

/**
 * Replays quarantined uploads through ingest, resolved ones too: storing a reading twice is idempotent.
 * @returns the number of uploads. @throws Failure NOT_FOUND when one does not exist (then none is replayed), OVERLOADED
 */
export async function replayUploads(
  db: Database,
  target: ReplayTarget,
  { operator, ids }: { operator: Operator; ids: readonly number[] },
): Promise<number> {
  const distinct = [...new Set(ids)];
  await requirePresent(db, operator, distinct);
  for (let start = 0; start < distinct.length; start += uploadsPerJob) {
    await enqueue(target, await findPayloads(db, operator, distinct.slice(start, start + uploadsPerJob)));
  }
  return distinct.length;
}

/**
 * Replays every upload that the operator sees and that is unresolved at the start, except those sealed with a key that is
 * no longer in ENCRYPTION_KEYS. @returns the number of uploads. @throws Failure OVERLOADED
 */
export async function replayUnresolved(db: Database, target: ReplayTarget, operator: Operator): Promise<number> {
  const last = await findLastId(db);
  let replayed = 0;
  for (let after = 0; ; ) {
    const payloads = await findUnresolvedPayloads(db, operator, { after, last, limit: uploadsPerJob });
    // Uploads sealed with a dropped key must not block the others.
    const opened = payloads.filter(({ sealed }) => target.sealer.canOpen(sealed));
    await enqueue(target, opened);
    replayed += opened.length;
    const next = payloads.at(-1)?.id;
    if (next === undefined) return replayed;
    after = next;
  }
}
