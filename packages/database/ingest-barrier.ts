import { sql } from 'kysely';
import type { Database } from './database.ts';

// Serializes changes of links and privacy with ingest; migrations/0004_ingest_barrier.sql has the triggers.

/**
 * Shares the ingest barrier: until the transaction ends, links, privacy intervals and deleted vehicles cannot change. Call
 * it first in a transaction that stores readings. Such transactions never wait for each other.
 * @returns the version of links, privacy intervals and deleted vehicles; equal versions mean that none of them changed
 */
export async function shareIngestBarrier(db: Database): Promise<number> {
  const { rows } = await sql<{ version: number }>`select share_ingest_barrier() as version`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the ingest barrier has no version');
  return row.version;
}

/**
 * Raises the ingest barrier: waits for the transactions that are storing readings, so that no reading is linked by what is
 * about to change. Call it first in a transaction that changes a link or a privacy interval, and take `clock_timestamp()`
 * after it as the time of the change. Triggers raise it too, but only when the statement runs.
 */
export async function raiseIngestBarrier(db: Database): Promise<void> {
  await sql`select raise_ingest_barrier()`.execute(db);
}
