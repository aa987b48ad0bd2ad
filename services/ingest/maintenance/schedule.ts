import type { MaintenanceTask } from '@odograph/contracts/queues';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import { countReadings } from '@odograph/database/reading-counts/maintain';
import type { Tables } from '@odograph/database/tables';
import { openQueue, openWorker } from '@odograph/queue/queues';
import { keepSchedule } from '@odograph/queue/schedules';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import {
  compressReadings,
  deleteExpired,
  deleteOldQuarantine,
  dropOldReadings,
  rewriteRedisLog,
  vacuumBusyTables,
} from './policies.ts';
import { purgeDeletedVehicles } from './purge.ts';

const hourMs = 3_600_000;
const purgeMs = 10_000;
/** The others wait for a task that is tried again; the next interval repeats one that is given up. */
const maximumAttempts = 5;

/**
 * Schedules maintenance in the queue: each task runs once for the whole platform, whatever the number of workers, and
 * without the background jobs that an embedded TimescaleDB lacks.
 */
export async function scheduleMaintenance(db: Kysely<Tables>, host: ServiceHost): Promise<void> {
  const { config, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('maintenance', connection);
  host.onStop('maintenance queue', () => queue.close());
  const tasks: Record<MaintenanceTask, { every: number; run(): Promise<unknown> }> = {
    compress: { every: hourMs, run: () => compressReadings(db, config.COMPRESS_AFTER_DAYS) },
    retain: {
      every: hourMs,
      run: async () => (config.RETENTION_DAYS === 0 ? 0 : dropOldReadings(db, config.RETENTION_DAYS)),
    },
    count: { every: hourMs, run: () => countReadings(db) },
    forget: {
      every: hourMs,
      run: async () => {
        await deleteExpired(db);
        return config.QUARANTINE_RETENTION_DAYS === 0 ? 0 : deleteOldQuarantine(db, config.QUARANTINE_RETENTION_DAYS);
      },
    },
    vacuum: { every: hourMs, run: () => vacuumBusyTables(db) },
    rewrite: { every: hourMs, run: () => rewriteRedisLog(config.REDIS_URL, logger) },
    purge: { every: purgeMs, run: () => purgeDeletedVehicles(db, logger) },
  };
  for (const [task, { every }] of Object.entries(tasks) as [MaintenanceTask, { every: number }][]) {
    host.onStop(`schedule of ${task}`, await keepSchedule({ queue, id: task, everyMs: every, data: { task } }));
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
    onFailure: (error) => logger.debug({ err: error }, 'maintenance worker'),
  });
  host.onStop('maintenance worker', () => worker.close());
}
