import { sql } from 'kysely';
import type { Database } from './database.ts';

const barrier = 7_305_114_903;

/**
 * Called first in a transaction that writes readings: until it ends, nobody can change what decides where readings go.
 * Writers share the barrier and never wait for each other.
 */
export async function shareIngestBarrier(db: Database): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(${barrier})`.execute(db);
}

/**
 * Called first in a transaction that changes a link or privacy: waits for the writers that are under way, so that a
 * reading is never placed by a decision that is about to change. The moment of the change is `clock_timestamp()` after it.
 */
export async function raiseIngestBarrier(db: Database): Promise<void> {
  await sql`select pg_advisory_xact_lock(${barrier})`.execute(db);
}
