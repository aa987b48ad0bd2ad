import type { Database } from '@odograph/database/database';
import { sql } from 'kysely';

async function chunksOlderThan(db: Database, days: number): Promise<string[]> {
  const { rows } = await sql<{ chunk: string }>`
    select chunk::text as chunk from show_chunks('reading', older_than => make_interval(days => ${days})) as chunk
    order by 1`.execute(db);
  return rows.map(({ chunk }) => chunk);
}

/**
 * Compresses the chunks of readings that are older than so many days, each by itself, so that nobody waits for long;
 * a chunk that late data came to is compressed anew.
 * @returns how many chunks there were
 */
export async function compressReadings(db: Database, afterDays: number): Promise<number> {
  const chunks = await chunksOlderThan(db, afterDays);
  for (const chunk of chunks) {
    await sql`select compress_reading_chunk(${chunk}::regclass)`.execute(db);
  }
  return chunks.length;
}

/** Drops the chunks of readings that are older than so many days. @returns how many there were */
export async function dropOldReadings(db: Database, retentionDays: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select drop_readings_older_than(make_interval(days => ${retentionDays})) as count`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Days for which the feed of changes can be followed. */
const changeDays = 30;

/** Forgets old changes, and remembers how far, so that nobody who comes back after long takes the rest for everything. */
async function forgetChanges(db: Database): Promise<void> {
  await sql`with forgotten as (
      delete from reading_change where stored_at < now() - make_interval(days => ${changeDays})
      returning application_id, transaction_id),
    newest as (select application_id, max(transaction_id) as transaction_id from forgotten group by application_id)
    update application set changes_forgotten_until = greatest(changes_forgotten_until, newest.transaction_id)
    from newest where newest.application_id = application.id`.execute(db);
}

/** Days for which it is told how gaps closed. */
const closedGapDays = 30;

/** Forgets tokens that ran out more than a day ago, and changes and closed gaps that nobody asks for any more. */
export async function forgetExpired(db: Database): Promise<void> {
  await forgetChanges(db);
  await sql`delete from closed_gap where closed_at < now() - make_interval(days => ${closedGapDays})`.execute(db);
  await sql`delete from access_token where expires_at < now() - interval '1 day'`.execute(db);
  await sql`delete from refresh_token where expires_at < now() - interval '1 day'`.execute(db);
  await sql`delete from session where created_at < now() - interval '1 day'
    and not exists (select 1 from access_token where access_token.session_id = session.id)
    and not exists (select 1 from refresh_token where refresh_token.session_id = session.id)`.execute(db);
}

/**
 * Tells the planner what is in the chunks that are filled now, and in those of which it knows nothing: without that it takes
 * them for nearly empty, and sorts what an index gives in order.
 * @returns how many chunks there were
 */
export async function analyzeReadings(db: Database): Promise<number> {
  const { rows } = await sql<{ chunk: string }>`
    select table_class.oid::regclass::text as chunk from timescaledb_information.chunks
    join pg_class as table_class on table_class.oid = format('%I.%I', chunk_schema, chunk_name)::regclass
    where hypertable_name = 'reading' and not is_compressed
      and (table_class.reltuples < 0 or range_end > now() - interval '1 day')`.execute(db);
  for (const { chunk } of rows) await sql`analyze ${sql.raw(chunk)}`.execute(db);
  return rows.length;
}

/** Cleans the tables whose rows change most and counts readings, for databases that do not do so by themselves. */
export async function vacuumBusyTables(db: Database): Promise<void> {
  await analyzeReadings(db);
  await sql`vacuum (analyze) vehicle_latest, reading_count, command, reading_change, quarantine, audit_chain,
    trip, trip_checkpoint, trip_touched, trip_work, trip_turn`.execute(db);
}
