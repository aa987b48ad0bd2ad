import { randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '@odograph/contracts/caller';
import { Failure } from '@odograph/contracts/failures';
import type { ExportJob } from '@odograph/contracts/queues';
import { isUuid } from '@odograph/contracts/text-patterns';
import { isoMicroseconds } from '@odograph/contracts/timestamps';
import type { Addresses } from '@odograph/database/addresses';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { accessibleTo } from '@odograph/database/vehicle-access';
import type { TypedJob, TypedQueue } from '@odograph/queue/queues';
import { hashSecret } from '@odograph/runtime/secrets';
import { type Kysely, sql } from 'kysely';
import { Export } from './export.ts';
import type { ExportFiles } from './export-files.ts';
import { isExported } from './queries.ts';
import type { ExportQuery, ExportState } from './schemas.ts';

interface Interval {
  /** ISO 8601. */
  readonly from: string;
  readonly until: string;
}

/** Vehicles, and the privacy intervals that apply to an interval of theirs. */
interface Coverage {
  readonly vehicleIds?: readonly number[];
  /** Fingerprint of the intervals; the end of one does not count. */
  readonly privacy?: string;
}

/** Finds the vehicles and privacy intervals that limit an export at its start. */
export async function findCoverage(
  db: Database,
  scope: Parameters<typeof isExported>[0],
  interval: Interval,
): Promise<Required<Coverage>> {
  const { rows } = await sql<{ id: number }>`select vehicle.id from vehicle where ${isExported(scope)}
    order by vehicle.id`.execute(db);
  const vehicleIds = rows.map(({ id }) => id);
  return { vehicleIds, privacy: await findPrivacy(db, vehicleIds, interval) };
}

async function findPrivacy(db: Database, vehicleIds: readonly number[], { from, until }: Interval): Promise<string> {
  const { rows } = await sql<{ privacy: string }>`
    select coalesce(md5(string_agg(concat(vehicle_id, ' ', lower(period)), ',' order by vehicle_id, period)), '') as privacy
    from privacy_period where vehicle_id = any(${vehicleIds}::integer[])
      and period && tstzrange(${from}::timestamptz, ${until}::timestamptz)`.execute(db);
  return rows[0]?.privacy ?? '';
}

/** Whether the caller still sees every vehicle of a finished export, and none became private for its interval. */
async function isStillCovered(
  db: Database,
  caller: Caller,
  interval: Interval,
  { vehicleIds = [], privacy = '' }: Coverage,
): Promise<boolean> {
  const { rows } = await sql<{ seen: number }>`select count(*) as seen from vehicle
    where vehicle.id = any(${vehicleIds}::integer[]) and ${accessibleTo(caller)}`.execute(db);
  return rows[0]?.seen === vehicleIds.length && (await findPrivacy(db, vehicleIds, interval)) === privacy;
}

/** How far a job is; kept in the queue. */
export interface ExportProgress {
  readonly rows: number;
  readonly bytes: number;
  /** From 0 to 1. */
  readonly share: number;
  /** Why it cannot be done; it is not tried again. */
  readonly fault?: string;
  /** The vehicles that the finished file may hold. */
  readonly vehicleIds?: readonly number[];
  /** The privacy intervals that applied to it. */
  readonly privacy?: string;
}

/** Names a job by an idempotency key of its caller, in the form of a UUID. */
function idByKey({ applicationId, userId }: Caller, key: string): string {
  const sha256 = hashSecret(JSON.stringify([applicationId, userId, key])).toString('hex');
  return sha256.slice(0, 32).replace(/^(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-8$3-8$4-');
}

const keptMs = 86_400_000;
const allTypes = ['wait', 'prioritized', 'delayed', 'active', 'completed', 'failed'] as const;

interface ExportJobsOptions {
  readonly db: Kysely<Tables>;
  readonly queue: TypedQueue<'exports'>;
  readonly files: ExportFiles;
  readonly maxPerApplication: number;
}

const callerOf = ({ applicationId, userId }: ExportJob): Caller => ({
  applicationId,
  ...(userId !== undefined && { userId }),
});

/** Opens the export of a job from its start. @param vehicleIds limits it to these vehicles */
export function openExport(job: ExportJob, addresses?: Addresses, vehicleIds?: readonly number[]): Export {
  return new Export(callerOf(job), job, job.vehicleId, addresses, vehicleIds);
}

const progressOf = ({ progress }: Pick<TypedJob<'exports'>, 'progress'>): ExportProgress => ({
  ...{ rows: 0, bytes: 0, share: 0 },
  ...(typeof progress === 'object' && progress),
});

/** Exports that are written to files. The queue holds them, so they survive a restart of every process. */
export class ExportJobs {
  readonly #options: ExportJobsOptions;

  constructor(options: ExportJobsOptions) {
    this.#options = options;
  }

  /** Creates a job, whose id is derived from the idempotency key.
   * @returns the job, and whether an earlier request with the key created it
   * @throws Failure INVALID_PARAMETER, INVALID_INTERVAL, IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_KEY_IN_USE, TOO_MANY,
   * OVERLOADED
   */
  async create(
    caller: Caller,
    query: ExportQuery,
    vehicleId: number | undefined,
    key: string | undefined,
  ): Promise<{ readonly job: ExportState; readonly isReplayed: boolean }> {
    const { scope } = new Export(caller, query, vehicleId);
    const { applicationId, userId } = caller;
    const data: ExportJob = {
      ...{ applicationId, of: scope.of, format: query.format },
      ...{ from: isoMicroseconds(scope.from), until: isoMicroseconds(scope.until) },
      ...(userId !== undefined && { userId }),
      ...(vehicleId !== undefined && { vehicleId }),
      ...(query.group !== undefined && { group: query.group }),
      ...(query.fields !== undefined && { fields: query.fields }),
      ...(query.address && { address: true }),
    };
    return this.#withQueue(async (queue) => {
      const jobId = `${applicationId}-${key === undefined ? randomUUID() : idByKey(caller, key)}`;
      const earlier = key === undefined ? undefined : await this.#findByKey(queue, jobId, data);
      if (earlier) return { job: await this.#describe(earlier), isReplayed: true };
      const ids = await queue.getRanges([...allTypes], 0, -1);
      if (ids.filter((id) => id.startsWith(`${applicationId}-`)).length >= this.#options.maxPerApplication) {
        throw new Failure('TOO_MANY', 'the application has too many exports: delete one, or wait a day');
      }
      // sweep() removes it, with its file.
      const job = await queue.add('exports', data, { jobId, removeOnComplete: false, removeOnFail: false });
      // The queue ignores the second of two concurrent requests with one key, and one whose deleted job is still running.
      const own = key === undefined ? job : await this.#findByKey(queue, jobId, data);
      if (!own) throw new Failure('IDEMPOTENCY_KEY_IN_USE', 'the export of this key is being deleted: use another key');
      return { job: await this.#describe(own), isReplayed: false };
    });
  }

  /** @throws Failure IDEMPOTENCY_KEY_REUSED */
  async #findByKey(
    queue: TypedQueue<'exports'>,
    jobId: string,
    data: ExportJob,
  ): Promise<TypedJob<'exports'> | undefined> {
    const job = await queue.getJob(jobId);
    if (!job || job.data.isDeleted) return undefined;
    if (!isDeepStrictEqual(job.data, data)) throw new Failure('IDEMPOTENCY_KEY_REUSED');
    return job;
  }

  /** Lists the jobs of a caller, newest first. @throws Failure OVERLOADED */
  async list({ applicationId, userId }: Caller): Promise<ExportState[]> {
    const ids = await this.#withQueue((queue) => queue.getRanges([...allTypes], 0, -1));
    const own = ids.filter((id) => id.startsWith(`${applicationId}-`));
    const jobs = await this.#withQueue((queue) => Promise.all(own.map((id) => queue.getJob(id))));
    const seen = jobs.flatMap((job) => (job && !job.data.isDeleted && job.data.userId === userId ? [job] : []));
    const newestFirst = seen.toSorted((one, other) => other.timestamp - one.timestamp);
    return Promise.all(newestFirst.map((job) => this.#describe(job)));
  }

  /** @throws Failure NOT_FOUND, OVERLOADED */
  async find(caller: Caller, id: string): Promise<ExportState> {
    return this.#describe(await this.#find(caller, id));
  }

  /** Deletes a job with its file; one that is running ends soon. @throws Failure NOT_FOUND, OVERLOADED */
  async delete(caller: Caller, id: string): Promise<void> {
    await this.#discard(await this.#find(caller, id));
  }

  /**
   * Opens the file of a job, unless a vehicle in it was deleted, or became invisible to the caller or private since.
   * @throws Failure NOT_FOUND, NO_DATA before it is done, OVERLOADED
   */
  async openFile(caller: Caller, id: string): Promise<{ handle: FileHandle; mediaType: string; fileName: string }> {
    const job = await this.#find(caller, id);
    const { state } = await this.#describe(job);
    if (state !== 'DONE') throw new Failure('NO_DATA', 'the export is not done');
    if (!(await isStillCovered(this.#options.db, callerOf(job.data), job.data, progressOf(job)))) {
      await this.#discard(job);
      throw new Failure('NOT_FOUND', 'a vehicle of the export was deleted or is not visible any more');
    }
    const { mediaType, fileName } = openExport(job.data);
    const handle = await this.#options.files.open(job.id ?? '').catch((cause: unknown) => {
      throw new Failure('NOT_FOUND', 'the file is not in DATA_DIR/exports of this process', {}, { cause });
    });
    return { handle, mediaType, fileName };
  }

  /** Deletes what is a day old or may not be read any more, and files without a job. */
  async sweep(): Promise<void> {
    const { queue, files, db } = this.#options;
    const finished = await queue.getJobs(['completed', 'failed']);
    for (const job of finished) {
      const isOld = (job.finishedOn ?? Date.now()) + keptMs < Date.now();
      const isKept = !isOld && !job.data.isDeleted;
      if (!isKept || !(await isStillCovered(db, callerOf(job.data), job.data, progressOf(job))))
        await this.#discard(job);
    }
    await files.sweep(async () => new Set(await queue.getRanges([...allTypes], 0, -1)));
  }

  async #discard(job: TypedJob<'exports'>): Promise<void> {
    await this.#withQueue(async () => {
      // A worker holds a running job, and looks for this mark.
      if ((await job.getState()) === 'active') await job.updateData({ ...job.data, isDeleted: true });
      else await job.remove();
    });
    await this.#options.files.remove(job.id ?? '');
  }

  async #find({ applicationId, userId }: Caller, id: string): Promise<TypedJob<'exports'>> {
    const job = isUuid(id) ? await this.#withQueue((queue) => queue.getJob(`${applicationId}-${id}`)) : undefined;
    if (!job || job.data.isDeleted || job.data.userId !== userId) throw new Failure('NOT_FOUND', 'no such export');
    return job;
  }

  async #describe(read: TypedJob<'exports'>): Promise<ExportState> {
    const jobState = await this.#withQueue(() => read.getState());
    const isStale = (jobState === 'completed' || jobState === 'failed') && read.finishedOn === undefined;
    // The job ended after it was read.
    const job = isStale ? await this.#withQueue(async (queue) => (await queue.getJob(read.id ?? '')) ?? read) : read;
    const { rows, bytes, share, fault } = progressOf(job);
    const { of, format, from, until, fields, address, vehicleId, group } = job.data;
    const state = describeState(jobState, fault);
    const finishedMs = state === 'DONE' || state === 'FAILED' ? job.finishedOn : undefined;
    return {
      ...{ id: job.id?.replace(/^\d+-/, '') ?? '', state, progress: share, rows, bytes, of, format, from, until },
      ...(fields !== undefined && { fields }),
      ...(address && { address }),
      ...(vehicleId !== undefined && { vehicleId: String(vehicleId) }),
      ...(group !== undefined && { group }),
      createdAt: new Date(job.timestamp).toISOString(),
      ...(finishedMs !== undefined && {
        finishedAt: new Date(finishedMs).toISOString(),
        expiresAt: new Date(finishedMs + keptMs).toISOString(),
      }),
      ...(state === 'FAILED' && { reason: fault ?? 'something failed on our side' }),
    };
  }

  async #withQueue<T>(work: (queue: TypedQueue<'exports'>) => Promise<T>): Promise<T> {
    try {
      return await work(this.#options.queue);
    } catch (cause) {
      if (cause instanceof Failure) throw cause;
      throw new Failure('OVERLOADED', 'the queue is unavailable', { retryAfterSeconds: 5 }, { cause });
    }
  }
}

function describeState(jobState: string, fault: string | undefined): ExportState['state'] {
  if (jobState === 'completed') return fault === undefined ? 'DONE' : 'FAILED';
  if (jobState === 'failed') return 'FAILED';
  return jobState === 'active' ? 'RUNNING' : 'QUEUED';
}
