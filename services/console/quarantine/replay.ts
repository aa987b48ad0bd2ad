import { isUtf8 } from 'node:buffer';
import { Failure } from '@odograph/contracts/failures';
import type { QueuedUpload } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { countUnfinishedJobs, type TypedQueue } from '@odograph/queue/queues';
import { quarantineContext, type Sealer } from '@odograph/runtime/sealing';
import { findLastId, findMissing, findPayloads, findUnresolvedPayloads, type SealedUpload } from './queries.ts';

/** An upload has at most 256 KiB, so a job stays within 8 MiB. */
const uploadsPerJob = 32;

export interface ReplayTarget {
  readonly sealer: Sealer;
  readonly queue: TypedQueue<'uploads'>;
  /** Above so many waiting jobs nothing is added: replays must not keep devices from uploading. */
  readonly maximumBacklogJobs: number;
}

/** The upload as the broker took it, every byte of it. */
function describeUpload({ id, deviceId, receivedAtMs }: SealedUpload, payload: Buffer): QueuedUpload {
  const origin = { deviceId, receivedAtMs: Math.floor(receivedAtMs), quarantineId: String(id) };
  return isUtf8(payload)
    ? { ...origin, text: payload.toString('utf8') }
    : { ...origin, base64: payload.toString('base64') };
}

async function enqueue({ queue, sealer, maximumBacklogJobs }: ReplayTarget, uploads: SealedUpload[]): Promise<void> {
  if (uploads.length === 0) return;
  const payloads = uploads.map(({ deviceId, sealed }) => sealer.open(sealed, quarantineContext(deviceId)));
  try {
    const waiting = await countUnfinishedJobs(queue);
    if (waiting > maximumBacklogJobs) throw new Failure('OVERLOADED', 'too many uploads wait to be stored');
    await queue.add('uploads', {
      uploads: uploads.map((upload, index) => describeUpload(upload, payloads[index] ?? Buffer.alloc(0))),
      devices: new Set(uploads.map(({ deviceId }) => deviceId)).size,
      bytes: payloads.reduce((sum, payload) => sum + payload.length, 0),
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure('OVERLOADED', 'the queue cannot be reached', { retryAfterSeconds: 5 }, { cause });
  }
}

/**
 * Sends quarantined uploads through ingest again, also resolved ones: storing a reading twice changes nothing.
 * @returns how many
 * @throws Failure NOT_FOUND when one does not exist (then none is sent), OVERLOADED
 */
export async function replayUploads(db: Database, target: ReplayTarget, ids: readonly number[]): Promise<number> {
  const distinct = [...new Set(ids)];
  const missing = await findMissing(db, distinct);
  if (missing.length > 0) {
    throw new Failure('NOT_FOUND', `there is no quarantined upload ${missing.join(', ')}`, { field: 'ids' });
  }
  for (let start = 0; start < distinct.length; start += uploadsPerJob) {
    await enqueue(target, await findPayloads(db, distinct.slice(start, start + uploadsPerJob)));
  }
  return distinct.length;
}

/**
 * Sends every unresolved upload through ingest again; those that are quarantined meanwhile are left, and those that are
 * sealed with a key that is not there any more.
 * @returns how many
 * @throws Failure OVERLOADED
 */
export async function replayUnresolved(db: Database, target: ReplayTarget): Promise<number> {
  const last = await findLastId(db);
  let replayed = 0;
  for (let after = 0; ; ) {
    const payloads = await findUnresolvedPayloads(db, { after, last, limit: uploadsPerJob });
    // What a lost key sealed cannot be replayed and must not keep the others from it.
    const opened = payloads.filter(({ sealed }) => target.sealer.canOpen(sealed));
    await enqueue(target, opened);
    replayed += opened.length;
    const next = payloads.at(-1)?.id;
    if (next === undefined) return replayed;
    after = next;
  }
}
