import type { MaintenanceTask } from '@odograph/contracts/queues';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import type { Tables } from '@odograph/database/tables';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { keepSchedule } from '@odograph/queue/schedules';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { countReadings } from './count-readings.ts';
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
  vacuumBusyTables,
} from './policies.ts';
import { purgeDeletedVehicles } from './purge.ts';
import type { FrameRedecoding } from './redecode.ts';

const hourMs = 3_600_000;
const purgeMs = 10_000;
const reportsMs = 60_000;
const redecodeMs = 5000;
/** After the end of a week of readings: late readings into compressed weeks cost more. */
const compressAfterDays = 7;
/** A reader of the list of events that was away for longer starts again from the state of the fleet. */
const eventDays = 7;
/** The other tasks wait for a retry; the next interval runs a task that failed this often again. */
const maximumAttempts = 5;

/** Applies every retention that is set; 0 days keep everything. @returns the number of chunks and rows removed */
async function applyRetention(db: Kysely<Tables>, config: ResolvedConfig): Promise<number> {
  const policies: readonly [days: number, remove: (db: Kysely<Tables>, days: number) => Promise<number>][] = [
    [config.RETENTION_DAYS, dropOldReadings],
    [config.QUARANTINE_RETENTION_DAYS, deleteOldQuarantine],
    [config.COMMAND_RETENTION_DAYS, deleteOldCommands],
    [config.BOOKING_RETENTION_DAYS, deleteOldBookings],
    [config.ALARM_RETENTION_DAYS, deleteOldAlarms],
    [config.AUDIT_RETENTION_DAYS, deleteOldAudit],
    [eventDays, deleteOldEvents],
  ];
  let removed = 0;
  for (const [days, remove] of policies) if (days > 0) removed += await remove(db, days);
  return removed;
}

/** Schedules maintenance in the queue, so that each task runs once for the whole platform and on the embedded engine. */
export async function scheduleMaintenance(
  db: Kysely<Tables>,
  host: ServiceHost,
  redecoding: Pick<FrameRedecoding, 'run'>,
): Promise<void> {
  const { config, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('maintenance', connection);
  host.onStop('maintenance queue', () => queue.close());
  // Tasks over many chunks stop between two of them, so that a shutdown does not wait for all.
  const stopping = new AbortController();
  const tasks: Record<MaintenanceTask, { every: number; run(): Promise<unknown> }> = {
    compress: { every: hourMs, run: () => compressReadings(db, compressAfterDays, stopping.signal) },
    retain: { every: hourMs, run: () => applyRetention(db, config) },
    count: { every: hourMs, run: () => countReadings(db) },
    forget: { every: hourMs, run: () => deleteExpired(db) },
    vacuum: { every: hourMs, run: () => vacuumBusyTables(db, stopping.signal) },
    rewrite: { every: hourMs, run: () => rewriteRedisLog(config.REDIS_URL, logger) },
    purge: { every: purgeMs, run: () => purgeDeletedVehicles(db, logger) },
    reports: { every: reportsMs, run: () => endLongReports(db, logger) },
    redecode: { every: redecodeMs, run: () => redecoding.run(stopping.signal) },
  };
  for (const task of Object.keys(tasks) as MaintenanceTask[]) {
    const schedule = { queue, id: task, everyMs: tasks[task].every, data: { task } };
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
        logger.error({ task, ...describeDatabaseError(error) }, 'maintenance failed');
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
