import type { MaintenanceTask } from '@odograph/contracts/queues';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError } from '@odograph/database/postgres-failure';
import { openQueue, openWorker } from '@odograph/queue/queues';
import type { ServiceHost } from '@odograph/runtime/service';
import { compressReadings, dropOldReadings, forgetExpired, vacuumBusyTables } from './policies.ts';

const hourMs = 3_600_000;

/**
 * Runs the policies of the database from the queue: once for the whole platform however many workers there are, and on
 * every kind of TimescaleDB alike.
 */
export async function scheduleMaintenance(db: Database, host: ServiceHost): Promise<void> {
  const { config, logger } = host;
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const tasks: Record<MaintenanceTask, () => Promise<unknown>> = {
    compress: () => compressReadings(db, config.COMPRESS_AFTER_DAYS),
    retain: async () => (config.RETENTION_DAYS === 0 ? 0 : dropOldReadings(db, config.RETENTION_DAYS)),
    forget: () => forgetExpired(db),
    vacuum: () => vacuumBusyTables(db),
  };
  const queue = openQueue('maintenance', connection);
  host.onStop('maintenance queue', () => queue.close());
  for (const task of Object.keys(tasks) as MaintenanceTask[]) {
    await queue.upsertJobScheduler(task, { every: hourMs }, { name: 'maintenance', data: { task } });
  }
  const worker = openWorker({
    ...connection,
    name: 'maintenance',
    concurrency: 1,
    process: async ({ data: { task } }) => {
      try {
        logger.info({ task, result: await tasks[task]() }, 'maintenance done');
      } catch (error) {
        logger.error({ task, ...describeDatabaseError(error) }, 'maintenance failed');
        throw new Error(`maintenance ${task} failed`);
      }
    },
    onFailure: (error) => logger.debug({ err: error }, 'maintenance worker'),
  });
  host.onStop('maintenance worker', () => worker.close());
}
