import type { MaintenanceTask } from '@odograph/contracts/queues';
import { compressAfterDays } from '@odograph/contracts/telemetry';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { keepSchedule } from '@odograph/queue/schedules';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import type { ServiceHost } from '@odograph/runtime/service';
import { type Kysely, sql } from 'kysely';
import {
  compressReadings,
  deleteExpired,
  deleteOldAlarms,
  deleteOldAudit,
  deleteOldBookings,
  deleteOldCommands,
  deleteOldEvents,
  deleteOldQuarantine,
  dropOldReadings,
  endLongReports,
  rewriteRedisLog,
  runAll,
  vacuumBusyTables,
} from './policies.ts';
import { purgeDeletedVehicles } from './purge.ts';
import type { FrameRedecoding } from './redecode.ts';

const hourMs = 3_600_000;
/** The uploads that a new platform receives first do not wait for tasks over the whole database. */
const firstHourlyMs = 60_000;
const reportsMs = 60_000;
const redecodeMs = 5000;
/** A reader of the event list that falls further behind restarts from the state of the fleet. */
const eventRetentionDays = 7;
/** The other tasks wait for a retry; the next interval runs a task that failed this often again. */
const maximumAttempts = 5;

/**
 * Applies every retention that is set, even if another fails; 0 days keep everything.
 * @returns the number of chunks and rows removed
 * @throws AggregateError of all failures, once the others are done
 */
export async function applyRetention(db: Kysely<Tables>, config: ResolvedConfig, logger: Logger): Promise<number> {
  const policies: readonly [days: number, remove: (db: Kysely<Tables>, days: number) => Promise<number>][] = [
    [config.RETENTION_DAYS, (_, days) => dropOldReadings(db, days, logger)],
    [config.QUARANTINE_RETENTION_DAYS, deleteOldQuarantine],
    [config.COMMAND_RETENTION_DAYS, deleteOldCommands],
    [config.BOOKING_RETENTION_DAYS, deleteOldBookings],
    [config.ALARM_RETENTION_DAYS, deleteOldAlarms],
    [config.AUDIT_RETENTION_DAYS, deleteOldAudit],
    [eventRetentionDays, deleteOldEvents],
  ];
  const enabled = policies.filter(([days]) => days > 0);
  const removed = await runAll(enabled, ([days, remove]) => remove(db, days));
  return removed.reduce((sum, count) => sum + count, 0);
}

/** Schedules maintenance in the queue, so that each task runs once for the whole platform and on the embedded engine. */
export async function scheduleMaintenance(
  db: Kysely<Tables>,
  host: ServiceHost,
  redecoding: Pick<FrameRedecoding, 'run'>,
): Promise<void> {
  const { config, limits, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('maintenance', connection);
  host.onStop('maintenance queue', () => queue.close());
  // Tasks over many chunks stop between two of them, so that a shutdown does not wait for all.
  const stopping = new AbortController();
  const tasks: Record<MaintenanceTask, { every: number; run(): Promise<unknown> }> = {
    compress: { every: hourMs, run: () => compressReadings(db, compressAfterDays, logger, stopping.signal) },
    retain: { every: hourMs, run: () => applyRetention(db, config, logger) },
    count: { every: hourMs, run: () => countReadings(db) },
    forget: { every: hourMs, run: () => deleteExpired(db) },
    vacuum: { every: hourMs, run: () => vacuumBusyTables(db, stopping.signal) },
    rewrite: { every: hourMs, run: () => rewriteRedisLog(config.REDIS_URL, logger) },
    purge: { every: limits.purgeIntervalMs, run: () => purgeDeletedVehicles(db, logger) },
    reports: { every: reportsMs, run: () => endLongReports(db, logger) },
    redecode: { every: redecodeMs, run: () => redecoding.run(stopping.signal) },
  };
  for (const task of Object.keys(tasks) as MaintenanceTask[]) {
    const { every } = tasks[task];
    const firstAfterMs = every === hourMs ? firstHourlyMs : 0;
    const schedule = { queue, id: task, everyMs: every, firstAfterMs, data: { task } };
    host.onStop(`schedule of ${task}`, await keepSchedule(schedule));
  }
  const worker = openWorker({
    ...connection,
    name: 'maintenance',
    concurrency: 1,
    maximumAttempts,
    process: async ({ data: { task } }) => {
      try {
        const result = await tasks[task].run();
        logger[result === 0 ? 'debug' : 'info']({ task, result }, 'maintenance done');
      } catch (error) {
        for (const failure of error instanceof AggregateError ? error.errors : [error]) {
          logger.error({ task, ...describeDatabaseError(failure) }, 'maintenance failed');
        }
        throw new Error(`maintenance ${task} failed`);
      }
    },
    onFailure: (error) => logger.debug({ err: error }, 'maintenance worker failed'),
  });
  host.onStop('maintenance worker', () => {
    stopping.abort();
    return worker.close();
  });
}

/** By then most readings that a vehicle uploads late, after it was without a network, have arrived. */
const settledAfterHours = 2;
/** Counts at most one day of newly settled hours. @returns whether more are left */
async function countNext(db: Kysely<Tables>): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    await sql`select from reading_settlement for update`.execute(transaction);
    const { rows } = await sql<{ first: string; until: string; more: boolean }>`
      select first::text, least(first + interval '1 day', settled_until)::text as until,
        first + interval '1 day' < settled_until as more
      from reading_settlement cross join lateral (
        select least(settled_until, greatest(counted_until, coalesce(min(range_start), settled_until))) as first
        from timescaledb_information.chunks where hypertable_schema = current_schema()
          and hypertable_name = 'reading' and range_end > counted_until) as next
      where counted_until < settled_until`.execute(transaction);
    const [slice] = rows;
    if (!slice) return false;
    // Keeps the marks that writers made meanwhile.
    await sql`insert into reading_count (vehicle_id, hour, application_id, count)
      select counted.* from (
        select vehicle_id, date_bin('1 hour', time, timestamptz 'epoch') as hour, application_id, count(*) from reading
        where time >= ${slice.first}::timestamptz and time < ${slice.until}::timestamptz group by 1, 2, 3) as counted
      join vehicle on vehicle.id = counted.vehicle_id and deleted_at is null order by 1, 2, 3
      on conflict (vehicle_id, hour, application_id) do nothing`.execute(transaction);
    await sql`update reading_settlement set counted_until = ${slice.until}::timestamptz`.execute(transaction);
    return slice.more;
  });
}

const marksPerTransaction = 200;

/**
 * Counts marked hours again. Locks their rows before counting: a writer that marks one of them again has either committed,
 * and is counted, or waits and marks it afterwards.
 * @returns whether more are left
 */
async function countMarked(db: Kysely<Tables>): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ vehicle_id: number; hour: string; application_id: number }>`
      select vehicle_id, hour::text, application_id from reading_count
      where count is null and hour < (select counted_until from reading_settlement)
      order by 1, reading_count.hour, 3 limit ${marksPerTransaction} for update skip locked`.execute(transaction);
    await sql`update reading_count set count = (select count(*) from reading where reading.vehicle_id = marked.vehicle_id
        and reading.application_id = marked.application_id and time >= marked.hour and time < marked.hour + interval '1 hour')
      from unnest(${rows.map(({ vehicle_id }) => vehicle_id)}::integer[], ${rows.map(({ hour }) => hour)}::timestamptz[],
        ${rows.map(({ application_id }) => application_id)}::integer[]) as marked (vehicle_id, hour, application_id)
      where reading_count.vehicle_id = marked.vehicle_id and reading_count.hour = marked.hour
        and reading_count.application_id = marked.application_id`.execute(transaction);
    return rows.length === marksPerTransaction;
  });
}

/**
 * Settles the hours that are old enough, counts them, and counts marked hours again. Each step is a short transaction, so
 * ingest never waits long.
 * @returns the number of steps
 */
export async function countReadings(db: Kysely<Tables>): Promise<number> {
  let steps = 2;
  // From here on, late readings of these hours mark their counts.
  await sql`select settle_readings(make_interval(hours => ${settledAfterHours}))`.execute(db);
  while (await countNext(db)) steps += 1;
  while (await countMarked(db)) steps += 1;
  return steps;
}
