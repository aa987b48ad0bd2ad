import { sql } from 'kysely';
import type { Database } from './database.ts';

// Serializes changes of links and privacy with ingest; migrations/0003_readings.sql has the triggers.

/** Versions of what ingest caches; equal versions mean that nothing changed. */
export interface IngestVersions {
  /** Of links, privacy intervals and deleted vehicles. */
  readonly decisions: number;
  /** Of alarm rules and geofences. */
  readonly alarmRules: number;
  /** Of CAN databases and the models of vehicles. */
  readonly canDatabases: number;
}

/**
 * Shares the ingest barrier: until the transaction ends, links, privacy intervals, deleted vehicles, alarm rules and CAN
 * databases cannot change. Call it first in a transaction that stores readings. Such transactions never wait for each other.
 */
export async function shareIngestBarrier(db: Database): Promise<IngestVersions> {
  const { rows } = await sql<IngestVersions>`
    select decisions, alarm_rules as "alarmRules", can_databases as "canDatabases" from share_ingest_barrier()`.execute(
    db,
  );
  const [row] = rows;
  if (!row) throw new Error('the ingest barrier has no version');
  return row;
}

/**
 * Raises the ingest barrier: waits for the transactions that are storing readings, so that no reading is linked by what is
 * about to change. Call it first in a transaction that changes a link or a privacy interval, and take `clock_timestamp()`
 * after it as the time of the change. Triggers raise it too, but only when the statement runs.
 */
export async function raiseIngestBarrier(db: Database): Promise<void> {
  await sql`select raise_ingest_barrier()`.execute(db);
}

/**
 * Key of the advisory lock that transactions with old readings hold in shared mode (services/ingest/pipeline). Take it
 * exclusively before locking a chunk for long: otherwise such a transaction waits for the chunk while it holds the barrier.
 */
export const oldReadingsLock = 7_305_114_905;
