import { once } from 'node:events';
import type { MaintenanceTask } from '@odograph/contracts/queues';
import { signInHasExpired } from '@odograph/database/accounts';
import type { Database } from '@odograph/database/database';
import { oldReadingsLock } from '@odograph/database/ingest-barrier';
import { keptHours } from '@odograph/database/kept-answers';
import { sqlState } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis, primariesOf } from '@odograph/runtime/redis';
import { redisServers } from '@odograph/runtime/redis-url';
import { type Kysely, sql } from 'kysely';
import { excludeOldReadings } from '../pipeline/compression.ts';

/** Runs every step in sequence, even if one fails. @throws AggregateError of all failures, once all steps have run */
export async function runAll<Step, Result>(
  steps: readonly Step[],
  run: (step: Step) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      results.push(await run(step));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures);
  return results;
}

/**
 * Compression truncates a chunk, and retention drops it. Both wait for its current readers, while new readers and transactions
 * with old readings queue behind them.
 */
const chunkLockTimeout = '5s';
/** lock_not_available, and serialization_failure, which TimescaleDB raises when it cannot recompress a locked chunk. */
const lockStates = new Set(['55P03', '40001']);

/** Returns and logs 0 chunks if a long-running reader, such as a backup, keeps a chunk locked beyond the lock timeout. */
async function unlessRead(task: MaintenanceTask, logger: Pick<Logger, 'warn'>, work: Promise<number>): Promise<number> {
  try {
    return await work;
  } catch (error) {
    if (!lockStates.has(sqlState(error) ?? '')) throw error;
    logger.warn({ task }, 'readings are left for the next run: a transaction has been reading them for long');
    return 0;
  }
}

/**
 * Compresses chunks of readings older than `afterDays`, one per transaction to keep locks short. A chunk with late readings
 * is compressed again. A chunk that a long-running reader, such as a backup, keeps locked is left for the next run.
 * @returns the number of chunks that were compressed
 */
export async function compressReadings(
  db: Kysely<Tables>,
  afterDays: number,
  logger: Pick<Logger, 'warn'>,
  stopping?: AbortSignal,
): Promise<number> {
  const { rows } = await sql<{ chunk: string }>`
    select chunk::text as chunk from show_chunks('reading', older_than => make_interval(days => ${afterDays})) as chunk
    order by 1`.execute(db);
  let compressed = 0;
  for (const { chunk } of rows) {
    if (stopping?.aborted) break;
    const compressing = db.transaction().execute(async (transaction) => {
      await sql`set local lock_timeout = ${sql.lit(chunkLockTimeout)}`.execute(transaction);
      await excludeOldReadings(transaction);
      await sql`select compress_reading_chunk(${chunk}::regclass)`.execute(transaction);
      return 1;
    });
    compressed += await unlessRead('compress', logger, compressing);
  }
  return compressed;
}

/**
 * Drops chunks of readings older than `retentionDays`, and clears the end points of trips of that age: no position
 * outlives its retention. If a long-running reader, such as a backup, keeps one of the chunks locked, all are left for the next
 * run.
 * @returns the number of chunks
 */
export async function dropOldReadings(
  db: Database,
  retentionDays: number,
  logger: Pick<Logger, 'warn'>,
): Promise<number> {
  await sql`update trip set first_latitude = null, first_longitude = null, last_latitude = null, last_longitude = null
    where ended_at < now() - make_interval(days => ${retentionDays})
      and (first_latitude is not null or last_latitude is not null)`.execute(db);
  const dropping = sql<{ count: number }>`
    with bounded as materialized (select set_config('lock_timeout', ${chunkLockTimeout}, true)),
      alone as materialized (select pg_advisory_xact_lock(${oldReadingsLock}) from bounded)
    select drop_readings_older_than(make_interval(days => ${retentionDays})) as count from alone`.execute(db);
  return unlessRead(
    'retain',
    logger,
    dropping.then(({ rows }) => rows[0]?.count ?? 0),
  );
}

/** Retention of the change feed, of closed gaps and of the samples of the pipeline. */
const historyDays = 30;

/** Deletes old changes, and records up to where, so that an older cursor gets an error instead of an incomplete feed. */
async function deleteOldChanges(db: Database): Promise<void> {
  await sql`with deleted as (
      delete from reading_change where stored_at < now() - make_interval(days => ${historyDays})
      returning application_id, transaction_id),
    newest as (select application_id, max(transaction_id) as transaction_id from deleted group by application_id)
    update application set changes_forgotten_until = greatest(changes_forgotten_until, newest.transaction_id)
    from newest where newest.application_id = application.id`.execute(db);
}

/** Deletes events that were stored more than `retentionDays` ago, as changes are. @returns the number of events */
export async function deleteOldEvents(db: Database, retentionDays: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`with deleted as (
      delete from event where stored_at < now() - make_interval(days => ${retentionDays})
      returning application_id, transaction_id),
    newest as (select application_id, max(transaction_id) as transaction_id from deleted group by application_id),
    recorded as (
      update application set events_forgotten_until = greatest(events_forgotten_until, newest.transaction_id)
      from newest where newest.application_id = application.id)
    select count(*)::integer as count from deleted`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Deletes old changes, closed gaps, samples of the pipeline and addresses, and tokens and sessions a day after they expire. */
export async function deleteExpired(db: Database): Promise<void> {
  const statements = [
    sql`delete from closed_gap where closed_at < now() - make_interval(days => ${historyDays})`,
    sql`delete from pipeline_sample where at < now() - make_interval(days => ${historyDays})`,
    sql`delete from place_address where answered_at < now() - interval '1 year'`,
    sql`delete from idempotent_request where created_at < now() - make_interval(hours => ${keptHours})`,
    sql`delete from access_token where expires_at < now() - interval '1 day'`,
    sql`delete from refresh_token where expires_at < now() - interval '1 day'`,
    sql`delete from sign_in where ${signInHasExpired}`,
    sql`delete from session where created_at < now() - interval '1 day'
      and not exists (select 1 from access_token where access_token.session_id = session.id)
      and not exists (select 1 from refresh_token where refresh_token.session_id = session.id)
      and not exists (select 1 from sign_in where sign_in.session_id = session.id)`,
  ];
  const steps: (() => Promise<unknown>)[] = statements.map((statement) => () => statement.execute(db));
  await runAll([() => deleteOldChanges(db), ...steps], (step) => step());
}

const quarantineRowsAtOnce = 10_000;

/** Deletes uploads from quarantine that were received more than `retentionDays` ago. @returns the number of uploads */
export async function deleteOldQuarantine(db: Database, retentionDays: number): Promise<number> {
  for (let deleted = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`delete from quarantine where id in (
      select id from quarantine where received_at < now() - make_interval(days => ${retentionDays})
      order by received_at limit ${quarantineRowsAtOnce})`.execute(db);
    deleted += Number(numAffectedRows);
    if (numAffectedRows < BigInt(quarantineRowsAtOnce)) return deleted;
  }
}

/** Deletes the rows of a table that ended more than `retentionDays` ago. @returns the number of rows */
async function deleteEnded(db: Database, table: string, endedAt: string, retentionDays: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from ${sql.table(table)}
    where ${sql.ref(endedAt)} < now() - make_interval(days => ${retentionDays})`.execute(db);
  return Number(numAffectedRows);
}

export const deleteOldCommands = (db: Database, retentionDays: number): Promise<number> =>
  deleteEnded(db, 'command', 'ended_at', retentionDays);

export const deleteOldAlarms = (db: Database, retentionDays: number): Promise<number> =>
  deleteEnded(db, 'alarm', 'cleared_at', retentionDays);

/**
 * Deletes bookings and authorizations that ended more than `retentionDays` ago; an authorization stays while a younger
 * booking refers to it. @returns the number of bookings and authorizations
 */
export async function deleteOldBookings(db: Kysely<Tables>, retentionDays: number): Promise<number> {
  const deadline = sql`now() - make_interval(days => ${retentionDays})`;
  return db.transaction().execute(async (trx) => {
    const bookings = await sql`delete from booking where coalesce(deleted_at, ends_at) < ${deadline}`.execute(trx);
    const authorizations = await sql`delete from bluetooth_authorization as old where valid_until < ${deadline}
      and not exists (select from booking where booking.vehicle_id = old.vehicle_id
        and latest_authorization(booking.authorization_id) = latest_authorization(old.id))`.execute(trx);
    return Number(bookings.numAffectedRows ?? 0n) + Number(authorizations.numAffectedRows ?? 0n);
  });
}

/** Removes rows of the audit older than `retentionDays`; the chains still verify. @returns the number of rows */
export async function deleteOldAudit(db: Database, retentionDays: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select prune_audit(make_interval(days => ${retentionDays}))::integer as count`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Analyzes the chunks that are being filled and those without statistics. Without statistics the planner assumes nearly
 * empty chunks and sorts rows that an index returns in order.
 * @returns the number of chunks
 */
export async function analyzeReadings(db: Database, stopping?: AbortSignal): Promise<number> {
  const { rows } = await sql<{ chunk: string }>`
    select table_class.oid::regclass::text as chunk from timescaledb_information.chunks
    join pg_class as table_class on table_class.oid = format('%I.%I', chunk_schema, chunk_name)::regclass
    where hypertable_name = 'reading' and not is_compressed
      and (table_class.reltuples < 0 or range_end > now() - interval '1 day')`.execute(db);
  for (const { chunk } of rows) {
    if (stopping?.aborted) break;
    await sql`select analyze_reading_chunk(${chunk}::regclass)`.execute(db);
  }
  return rows.length;
}

/** Analyzes readings; on the embedded engine, which has no autovacuum, also vacuums and analyzes busy tables. */
export async function vacuumBusyTables(db: Database, stopping?: AbortSignal): Promise<void> {
  await analyzeReadings(db, stopping);
  const { rows } = await sql<{ embedded: boolean }>`select version() ~* 'emscripten|wasm' as embedded`.execute(db);
  // On a server only the owner of a table could vacuum it, and autovacuum does.
  if (stopping?.aborted || rows[0]?.embedded !== true) return;
  await sql`vacuum (analyze) vehicle_latest, reading_count, command, reading_change, event, quarantine, audit_chain,
    trip, trip_checkpoint, trip_touched, trip_work, trip_turn`.execute(db);
}

/** Asks each server of REDIS_URL to rewrite its append-only file. @returns whether any rewrite started */
export async function rewriteRedisLog(redisUrls: string, logger: Logger): Promise<boolean> {
  const rewrites = await Promise.all(redisServers(redisUrls).map((url) => rewriteServerLog(url, logger)));
  return rewrites.some(Boolean);
}

const connectTimeoutMs = 5000;

/**
 * Asks Redis to rewrite its append-only file, so that stored uploads leave the disk. On its own, Redis rewrites only when
 * the file has doubled.
 * @returns false without such a file or while a rewrite is in progress
 */
async function rewriteServerLog(redisUrl: string, logger: Logger): Promise<boolean> {
  const redis = connectRedis(redisUrl, logger);
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(connectTimeoutMs) });
    const rewrites = primariesOf(redis).map(async (server) => {
      const state = await server.info('persistence');
      if (!/^aof_enabled:1\r?$/m.test(state) || /^aof_rewrite_(in_progress|scheduled):1\r?$/m.test(state)) return false;
      await server.bgrewriteaof();
      return true;
    });
    return (await Promise.all(rewrites)).some(Boolean);
  } catch (err) {
    logger.warn({ err }, 'rewrite of the append-only file of Redis failed; see docs/security.md');
    return false;
  } finally {
    redis.disconnect();
  }
}

const maxReportDuration = '10 minutes';

/**
 * Ends transactions of the database users for reports that are open for ten minutes: the change feed waits for every open
 * transaction, and such a user may lift its own statement_timeout. @returns how many were ended
 */
export async function endLongReports(db: Kysely<Tables>, logger: Logger): Promise<number> {
  const { rows } = await sql<{
    ended: number;
  }>`select end_long_reports(${maxReportDuration}::interval) as ended`.execute(db);
  const ended = rows[0]?.ended ?? 0;
  if (ended > 0) logger.warn({ ended, maxReportDuration }, 'long transactions of report logins ended');
  return ended;
}
