import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Called first in a transaction that writes readings: until it ends, nobody can change what decides where readings go.
 * Writers share the barrier and never wait for each other.
 * @returns the version of those decisions, the same as long as none of them changes
 */
export async function shareIngestBarrier(db: Database): Promise<number> {
  const { rows } = await sql<{ version: number }>`select share_ingest_barrier() as version`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('the barrier has a version');
  return row.version;
}

/**
 * Called first in a transaction that changes a link or privacy: waits for the writers that are under way, so that a
 * reading is never placed by a decision that is about to change. The moment of the change is `clock_timestamp()` after it.
 * Statements that make such a change raise it by themselves, but only when they run.
 */
export async function raiseIngestBarrier(db: Database): Promise<void> {
  await sql`select raise_ingest_barrier()`.execute(db);
}
