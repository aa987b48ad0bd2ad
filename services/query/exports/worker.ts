import { join } from 'node:path';
import { inSnapshot } from '@odograph/database/batches';
import type { Tables } from '@odograph/database/tables';
import { openQueue, openWorker, type QueueConnection, type TypedJob, type TypedQueue } from '@odograph/queue/queues';
import { BackgroundFailures, type FailureReports } from '@odograph/runtime/background-failures';
import { Counter } from '@odograph/runtime/metrics';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import { repeat } from '../shared/repeat.ts';
import type { ExportCursor } from './export.ts';
import { type ExportDraft, ExportFiles, NoRoom } from './export-files.ts';
import { ExportJobs, type ExportProgress, findCoverage, openExport } from './export-jobs.ts';
import { countVehicles } from './queries.ts';

/** Exports that a process writes at once. */
const concurrency = 2;
/** Attempts, with back-off, before a job fails; a restart does not count as one. */
const maximumAttempts = 5;
/** Small enough that the connection, on the embedded engine the only one, is free again soon. */
const partBytes = 4 * 1024 * 1024;
const progressMs = 1000;

interface ExportWorkOptions extends QueueConnection {
  readonly db: Kysely<Tables>;
  readonly queue: TypedQueue<'exports'>;
  readonly files: ExportFiles;
  readonly failures: FailureReports<'exports' | 'export queue'>;
}

/** Writes the files of export jobs. @returns a function that stops; jobs under way begin again in another process, or later */
function workThroughExports(options: ExportWorkOptions): () => Promise<void> {
  const { redisUrl, prefix, failures } = options;
  const stopping = new AbortController();
  const worker = openWorker({
    ...{ name: 'exports', redisUrl, prefix, concurrency, maximumAttempts },
    process: async (job) => {
      await writeExport(options, job, stopping.signal);
      failures.succeeded('exports');
    },
    onFailure(error, jobId) {
      if (!stopping.signal.aborted) failures.failed(jobId === undefined ? 'export queue' : 'exports', error);
    },
  });
  return async () => {
    stopping.abort();
    await worker.close();
  };
}

async function writeExport(options: ExportWorkOptions, job: TypedJob<'exports'>, signal: AbortSignal): Promise<void> {
  const draft = await options.files.begin(job.id ?? '');
  try {
    await fill(options, job, draft, signal);
  } catch (error) {
    if (!(error instanceof NoRoom)) throw error;
    const failed: ExportProgress = { rows: 0, bytes: 0, share: 0, fault: error.message };
    await job.updateProgress(failed);
  } finally {
    await draft.discard();
  }
}

async function fill(
  { db, queue, files }: ExportWorkOptions,
  job: TypedJob<'exports'>,
  draft: ExportDraft,
  signal: AbortSignal,
): Promise<void> {
  const one = openExport(job.data);
  const coverage = await findCoverage(db, one.scope.caller, job.data.vehicleId, job.data);
  const vehicles = Math.max(1, await countVehicles(db, one.scope));
  const describe = (share: number): ExportProgress => ({
    rows: one.rows,
    bytes: draft.bytes,
    share: Math.min(1, share),
  });
  const isDeleted = async () => (await queue.getJob(job.id ?? ''))?.data.isDeleted === true;
  let reportedMs = performance.now();
  let cursor: ExportCursor | undefined;
  do {
    signal.throwIfAborted();
    const pieces: (string | Uint8Array)[] = [];
    const part = await inSnapshot(db, (snapshot) =>
      one.readPart({ snapshot, bytes: partBytes, from: cursor, send: (piece) => pieces.push(piece) }),
    );
    await draft.append(pieces);
    cursor = part.next;
    if (cursor && performance.now() - reportedMs >= progressMs) {
      reportedMs = performance.now();
      if (await isDeleted()) return;
      await job.updateProgress(describe((one.vehiclesDone + one.shareOf(cursor)) / vehicles));
    }
  } while (cursor);
  await draft.keep();
  await job.updateProgress({ ...describe(1), ...coverage });
  if (await isDeleted()) await files.remove(job.id ?? '');
}

const tasks = {
  exports: 'exports are not written',
  'export queue': 'exports are not queued, or not deleted when they are over',
} as const;
const sweepMs = 60_000;

/** Starts to write exports, and to delete them when they are over. */
export function startExportJobs(
  { config, limits, logger, metrics, onStop }: ServiceHost,
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
  const files = new ExportFiles(join(config.DATA_DIR, 'exports'), limits.maxExportBytes);
  const jobs = new ExportJobs({ db, queue, files, maxPerApplication: limits.maxExportJobs });

  const stopped = new AbortController();
  const sweeping = repeat({
    signal: stopped.signal,
    intervalMs: sweepMs,
    step: async () => {
      await jobs.sweep();
      failures.succeeded('export queue');
    },
    onFailure: async (error) => failures.failed('export queue', error),
  });
  onStop('sweep of exports', async () => {
    stopped.abort();
    await sweeping;
  });
  onStop('export worker', workThroughExports({ ...connection, db, queue, files, failures }));
  return { jobs, faults: () => failures.current };
}
