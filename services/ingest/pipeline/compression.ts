import type { QueuedUpload } from '@odograph/contracts/queues';
import { compressAfterDays } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { oldReadingsLock } from '@odograph/database/ingest-barrier';
import { sql } from 'kysely';
import type { UploadInProgress } from './readings.ts';

// A chunk is locked while it is compressed, for minutes in a large fleet. A transaction that waited for it would hold the
// locks of its vehicles and its share of the ingest barrier for as long, and so delay the uploads of all devices.

/** One day below the age of compression: the clocks of this process and of the database may differ. */
const oldAfterSeconds = (compressAfterDays - 1) * 86_400;

/** Waits for transactions with old readings, and excludes others until this one, which compresses a chunk, ends. */
export async function excludeOldReadings(db: Database): Promise<void> {
  await sql`select pg_advisory_xact_lock(${oldReadingsLock})`.execute(db);
}

/** Admits old readings to this transaction without waiting. @returns false while a chunk is being compressed */
export async function admitOldReadings(db: Database): Promise<boolean> {
  const { rows } = await sql<{ admitted: boolean }>`
    select pg_try_advisory_xact_lock_shared(${oldReadingsLock}) as admitted`.execute(db);
  return rows[0]?.admitted === true;
}

/** Postpones uploads with old readings while a chunk is compressed. Call it in the transaction that stores the others. */
export async function postponeOldReadings(
  db: Database,
  uploads: readonly UploadInProgress[],
  nowMs: number,
): Promise<{ admitted: readonly UploadInProgress[]; postponed: readonly QueuedUpload[] }> {
  const oldest = (nowMs / 1000 - oldAfterSeconds) * 1e6;
  const isOld = ({ readings }: UploadInProgress) => readings.some(({ timeMicroseconds }) => timeMicroseconds < oldest);
  const old = uploads.filter(isOld);
  if (old.length === 0 || (await admitOldReadings(db))) return { admitted: uploads, postponed: [] };
  return { admitted: uploads.filter((one) => !isOld(one)), postponed: old.map(({ upload }) => upload) };
}
