import { join } from 'node:path';
import type { Tables } from '@odograph/database/tables';
import { openQueue } from '@odograph/queue/queues';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { Counter } from '@odograph/runtime/metrics';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { ExportFiles } from './export-files.ts';
import { ExportJobs } from './export-jobs.ts';
import { workThroughExports } from './work.ts';

const tasks = {
  exports: 'exports are not written',
  'export queue': 'exports are not queued, or not deleted when they are over',
} as const;
const sweepMs = 60_000;

/** Starts to write exports, and to delete them when they are over. */
export function startExportJobs(
  { config, logger, metrics, onStop }: ServiceHost,
  db: Kysely<Tables>,
): { readonly jobs: ExportJobs; faults(): readonly string[] } {
  const counter = new Counter({
    name: 'odograph_query_background_failures_total',
    help: 'Failures of background work, by task',
    labelNames: ['task'] as const,
    registers: [metrics],
  });
  const failures = new BackgroundFailures(tasks, logger, counter);
  const connection = { redisUrl: config.REDIS_URL, prefix: config.QUEUE_PREFIX };
  const queue = openQueue('exports', connection);
  onStop('query queue exports', () => queue.close());
  const files = new ExportFiles(config.EXPORT_DIRECTORY ?? join(config.DATA_DIR, 'exports'), config.EXPORT_MAX_BYTES);
  const jobs = new ExportJobs({ db, queue, files, mostPerApplication: config.EXPORT_JOBS_PER_APPLICATION });

  let sweeping: Promise<void> | undefined;
  const sweep = (): void => {
    sweeping ??= jobs
      .sweep()
      .then(
        () => failures.succeeded('export queue'),
        (error: unknown) => failures.failed('export queue', error),
      )
      .finally(() => {
        sweeping = undefined;
      });
  };
  const timer = setInterval(sweep, sweepMs);
  onStop('sweep of exports', async () => {
    clearInterval(timer);
    await sweeping;
  });
  onStop('export worker', workThroughExports({ ...connection, db, queue, files, failures }));
  return { jobs, faults: () => failures.current };
}
