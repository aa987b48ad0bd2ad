import { join } from 'node:path';
import type { Addresses } from '@odograph/database/addresses';
import { inSnapshot } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { findVehicle } from '@odograph/database/vehicle-access';
import type { RoutePlugin } from '@odograph/http/authentication';
import { sendStoredFile } from '@odograph/http/file-answer';
import { IdempotencyKey, markReplayed } from '@odograph/http/idempotency';
import { sendFile } from '@odograph/http/paging';
import { AppId, EmptyAnswer, answers as responses, VehicleId } from '@odograph/http/schemas';
import { openQueue, openWorker, type QueueConnection, type TypedJob, type TypedQueue } from '@odograph/queue/queues';
import { BackgroundFailures, type FailureReports } from '@odograph/runtime/background-failures';
import { Counter } from '@odograph/runtime/metrics';
import type { ServiceHost } from '@odograph/runtime/service';
import type { Kysely } from 'kysely';
import Type from 'typebox';
import type { Answers } from '../shared/answers.ts';
import { type Reader, readerOf } from '../shared/read-budget.ts';
import { repeat } from '../shared/repeat.ts';
import { VehicleParameters } from '../shared/schemas.ts';
import { Export, type ExportCursor, exportFileTypes } from './export.ts';
import { type ExportDraft, ExportFiles, NoRoom } from './export-files.ts';
import { ExportJobs, type ExportProgress, findCoverage, openExport } from './export-jobs.ts';
import { countVehicles } from './queries.ts';
import { ExportQuery, ExportState, exportParameters } from './schemas.ts';

/** Exports that a process writes at once. */
const concurrency = 2;
/** Attempts, with back-off, before a job fails; a restart does not count as one. */
const maximumAttempts = 5;
/** Small enough that the connection, on the embedded engine the only one, is free again soon. */
const partBytes = 4 * 1024 * 1024;
const progressMs = 1000;

interface ExportWorkOptions extends QueueConnection {
  readonly db: Kysely<Tables>;
  readonly addresses: Addresses;
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
  { db, addresses, queue, files }: ExportWorkOptions,
  job: TypedJob<'exports'>,
  draft: ExportDraft,
  signal: AbortSignal,
): Promise<void> {
  const coverage = await findCoverage(db, openExport(job.data).scope, job.data);
  // Export only these vehicles: one that becomes visible later would be in the file, but its deletion would not remove
  // the file.
  const one = openExport(job.data, addresses, coverage.vehicleIds);
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
  addresses: Addresses,
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
  onStop('export worker', workThroughExports({ ...connection, db, addresses, queue, files, failures }));
  return { jobs, faults: () => failures.current };
}

const ExportRequest = Type.Object({ ...exportParameters, vehicleId: Type.Optional(VehicleId) });
const ExportPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'export', examples: ['7d4f8c62-0c4b-4f0e-9a60-0c2f3d1b5a77'] }),
});
const path = '/v1/x/exports/:id';

/** Additions to the interface: exports that are written to a file, for downloads that can be resumed (docs/exports.md). */
export function exportJobRoutes(jobs: ExportJobs, db: Database): RoutePlugin {
  return (http) => {
    http.post(
      '/v1/x/exports',
      {
        schema: {
          tags: ['exports'],
          summary: 'Write readings, trips or gaps to a file that is kept for a day',
          headers: IdempotencyKey,
          body: ExportRequest,
          response: responses(ExportState, 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL', 'TOO_MANY'),
        },
      },
      async ({ caller, headers, body: { vehicleId, ...query } }, reply) => {
        const vehicle = vehicleId === undefined ? undefined : await findVehicle(db, caller, vehicleId);
        const { job, isReplayed } = await jobs.create(caller, query, vehicle?.id, headers['idempotency-key']);
        if (isReplayed) markReplayed(reply);
        return job;
      },
    );

    addListRoute(http, jobs);
    http.get(
      path,
      {
        schema: {
          tags: ['exports'],
          summary: 'State of an export',
          params: ExportPath,
          response: responses(ExportState, 'NOT_FOUND'),
        },
      },
      ({ caller, params }) => jobs.find(caller, params.id),
    );

    http.delete(
      path,
      {
        schema: {
          tags: ['exports'],
          summary: 'Delete an export and its file',
          params: ExportPath,
          response: responses(EmptyAnswer, 'NOT_FOUND'),
        },
      },
      async ({ caller, params }) => {
        await jobs.delete(caller, params.id);
        return {};
      },
    );

    addFileRoute(http, jobs);
  };
}

function addListRoute(http: Parameters<RoutePlugin>[0], jobs: ExportJobs): void {
  http.get(
    '/v1/x/exports',
    {
      schema: {
        tags: ['exports'],
        summary: 'List the exports, newest first',
        response: responses(Type.Object({ exports: Type.Array(ExportState) }, { title: 'ExportJobs' })),
      },
    },
    async ({ caller }) => ({ exports: await jobs.list(caller) }),
  );
}

function addFileRoute(http: Parameters<RoutePlugin>[0], jobs: ExportJobs): void {
  const File = Type.String({ description: 'the file, or the part of it that Range names' });
  http.get(
    `${path}/file`,
    {
      config: { isLinked: true },
      schema: {
        tags: ['exports'],
        summary: 'The file of an export that is done; Range and If-Range resume a download',
        params: ExportPath,
        querystring: Type.Object({ appId: Type.Optional(AppId) }),
        produces: exportFileTypes,
        response: { ...responses(File, 'NOT_FOUND', 'NO_DATA'), 206: File },
      },
    },
    async (request, reply) => {
      const { handle, mediaType, fileName } = await jobs.openFile(request.caller, request.params.id);
      reply.type(mediaType).header('content-disposition', `attachment; filename="${fileName}"`);
      return sendStoredFile(request, reply, handle);
    },
  );
}

const File = Type.String({ description: 'the file, in the format of the request' });

const description =
  `Streamed, however long it is: read in parts by time, each in a snapshot of its own. What is stored while it
  runs may be in it or not; nothing is in it twice. An answer that ends early ends without its last chunk, so clients report it.`.replace(
    /\s+/g,
    ' ',
  );

/** Additions to the interface: readings, trips and gaps as files (docs/exports.md). */
export function exportRoutes(answers: Answers, db: Database, addresses: Addresses): RoutePlugin {
  const open = (reader: Reader, one: Export) => answers.open<ExportCursor>(reader, (part) => one.readPart(part));
  return (http) => {
    http.get(
      '/v1/x/vehicles/export',
      {
        exposeHeadRoute: false,
        schema: {
          tags: ['exports'],
          summary: 'Readings, trips or gaps of all vehicles as a file, vehicle by vehicle',
          description,
          querystring: ExportQuery,
          produces: exportFileTypes,
          response: responses(File, 'INVALID_INTERVAL'),
        },
      },
      async (request, reply) => {
        const one = new Export(request.caller, request.query, undefined, addresses);
        return sendFile(reply, await open(readerOf(request), one), one);
      },
    );

    http.get(
      '/v1/x/vehicle/:id/export',
      {
        exposeHeadRoute: false,
        schema: {
          tags: ['exports'],
          summary: 'Readings, trips or gaps of one vehicle as a file',
          description,
          params: VehicleParameters,
          querystring: ExportQuery,
          produces: exportFileTypes,
          response: responses(File, 'UNKNOWN_VEHICLE', 'INVALID_INTERVAL'),
        },
      },
      async (request, reply) => {
        const { id } = await findVehicle(db, request.caller, request.params.id);
        const one = new Export(request.caller, request.query, id, addresses);
        return sendFile(reply, await open(readerOf(request), one), one);
      },
    );
  };
}
