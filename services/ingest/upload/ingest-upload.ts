import { type DecodedReading, isValueFault } from '@odograph/codec/shared/readings';
import { decodeUpload } from '@odograph/codec/uploads';
import type { QueuedUpload, UploadBatch } from '@odograph/contracts/queues';
import { maximumClockLeadSeconds } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { describeDatabaseError, RefusedWork } from '@odograph/database/postgres-failure';
import type { TypedJob } from '@odograph/queue/queues';
import { nameShards, type ShardQueues, shardOf } from '@odograph/queue/shards';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { createLatestNow, within } from '@odograph/runtime/clock';
import type { Limits } from '@odograph/runtime/limits';
import type { Logger } from '@odograph/runtime/logger';
import type { Sealer } from '@odograph/runtime/sealing';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { sql } from 'kysely';
import type { IngestMetrics } from '../pipeline/metrics.ts';
import { groupBy, type QuarantineFault, type UploadInProgress, uploadBytes } from '../pipeline/readings.ts';
import { createLanes, type QueueLate, type StoredUploads } from './lanes.ts';
import { QuarantineQuota, type RejectAnnouncer, senderOf } from './quarantine.ts';
import { BatchStore, joinStored } from './store-batch.ts';

/** A queue that was never connected would wait until its Redis is back; /health waits 4 s. */
const answerMs = 3000;

/** Tracks how long live uploads wait to be stored. */
export class DelayedUploads {
  readonly #shards: readonly Pick<ShardQueues, 'shard' | 'uploads'>[];
  /** Jobs of this process, with the wall-clock time since which each has been waiting. */
  readonly #processing = new Map<string, Pick<TypedJob<'uploads'>, 'queueName' | 'timestamp'>>();

  constructor(shards: readonly Pick<ShardQueues, 'shard' | 'uploads'>[]) {
    this.#shards = shards;
  }

  /** Call it for every attempt: a failed job is still waiting. */
  started({ id = '', queueName, timestamp }: TypedJob<'uploads'>): void {
    this.#processing.set(id, { queueName, timestamp });
  }

  stored({ id = '' }: TypedJob<'uploads'>): void {
    this.#processing.delete(id);
  }

  /** Forgets the jobs of a queue that this process no longer works: another process stores them. */
  stopped(queue: string): void {
    for (const [id, { queueName }] of this.#processing) if (queueName === queue) this.#processing.delete(id);
  }

  /**
   * Returns the age in ms of the oldest upload in progress here or waiting in any shard; 0 without uploads.
   * @throws naming the shards whose Redis is unreachable
   */
  async oldestAgeMs(): Promise<number> {
    const waiting = await Promise.allSettled(
      this.#shards.map(({ uploads }) => within(answerMs, uploads.getJobs(['wait'], 0, 0, true))),
    );
    const silent = this.#shards.filter((_, index) => waiting[index]?.status === 'rejected');
    if (silent.length > 0) {
      const names = nameShards(
        silent.map(({ shard }) => shard),
        this.#shards.length,
      );
      throw new Error(`${names}Redis is unreachable; if it exited, see its log (a full disk ends it)`);
    }
    const oldest = waiting.flatMap((jobs) => (jobs.status === 'fulfilled' ? jobs.value : []));
    const jobs = [...this.#processing.values(), ...oldest];
    return jobs.reduce((age, { timestamp }) => Math.max(age, Date.now() - timestamp), 0);
  }
}

const sampleMs = 1000;
/** Longer than a transaction takes; with the interval of samples, /health fails within 15 s. */
const stallMs = 10_000;

const refusals: Readonly<Record<string, string>> = {
  '25006': 'the database is read-only (SQLSTATE 25006)',
  '53100': 'the disk of the database is full (SQLSTATE 53100)',
};

/** Detects a stall, in which uploads wait and none is stored; a shrinking backlog and an idle queue are no stall. */
export class StorageProgress {
  readonly #timer: NodeJS.Timeout;
  #advancedAtMs = performance.now();
  #reason: string | undefined;

  /** @param countWaiting counts the jobs that are not stored; while Redis cannot tell, nothing counts as stalled */
  constructor(countWaiting: () => Promise<number>) {
    const sample = async (): Promise<void> => {
      if ((await within(answerMs, countWaiting()).catch(() => 0)) === 0) this.stored();
    };
    this.#timer = setInterval(() => void sample(), sampleMs);
  }

  /** Records that a transaction with uploads was committed, quarantined ones included, or that none waits. */
  stored(): void {
    this.#advancedAtMs = performance.now();
    this.#reason = undefined;
  }

  /** Records why uploads could not be stored. */
  failed({ sqlState, error }: Readonly<Record<string, string | undefined>>): void {
    this.#reason = sqlState === undefined ? error : (refusals[sqlState] ?? `SQLSTATE ${sqlState}`);
  }

  /** Seconds since the last progress while uploads are waiting. */
  get stalledSeconds(): number {
    return (performance.now() - this.#advancedAtMs) / 1000;
  }

  /** Describes the stall; undefined while uploads are stored or none waits. */
  get fault(): string | undefined {
    if (this.stalledSeconds * 1000 < stallMs) return undefined;
    const fact = `uploads wait and none has been stored for ${Math.floor(this.stalledSeconds)} s`;
    return this.#reason === undefined ? fact : `${fact}: ${this.#reason}`;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The error of a failed job. It repeats no value of a reading, since the queue stores and shows it. */
class UploadsNotStored extends Error {
  constructor(description: Record<string, string | undefined>) {
    super(`uploads not stored, retrying: ${description['sqlState'] ?? description['error'] ?? 'unknown'}`);
    this.name = 'UploadsNotStored';
    delete this.stack;
  }
}

interface UploadProcessing {
  db: Database;
  sealer: Sealer;
  metrics: IngestMetrics;
  delayed: DelayedUploads;
  progress: Pick<StorageProgress, 'stored' | 'failed'>;
  logger: Logger;
  rejects: RejectAnnouncer;
  changes: Pick<ChangeAnnouncer, 'announce'>;
  queueLate: QueueLate;
  limits: Pick<Limits, 'maxReadingAgeDays' | 'maxNewChunksPerHour' | 'maxQuarantinedUploadsPerHour'>;
}

/** Concurrent transactions of a large batch. */
export const transactionsPerBatch = 2;
/** Below this, a second transaction costs more than it saves. */
const minDividedReadings = 2000;

/** Divides a large batch by device: the transactions rarely share a vehicle, so rarely wait for each other's locks. */
function divideByDevice(uploads: readonly UploadInProgress[]): (readonly UploadInProgress[])[] {
  const readings = uploads.reduce((total, upload) => total + upload.readings.length, 0);
  if (readings < minDividedReadings) return [uploads];
  return [...groupBy(uploads, ({ upload }) => shardOf(upload.deviceId, transactionsPerBatch)).values()];
}

/**
 * Creates the processors of the upload queues: batch, decode, store. A failed job is retried until it succeeds, or until
 * its readings at fault are in quarantine; processing a job twice is harmless, because a reading's key is in its data.
 */
export function createUploadProcessors(processing: UploadProcessing) {
  const { db, sealer, metrics, delayed, progress, logger, rejects, changes, limits } = processing;
  const latestNow = createLatestNow();
  const refused = new RefusedWork();
  const batches = new BatchStore(db, sealer, new QuarantineQuota(limits.maxQuarantinedUploadsPerHour));
  const chunkBudget = new ChunkBudget(db, limits.maxNewChunksPerHour);
  const storeUploads = async (
    jobs: readonly UploadBatch[],
    uploads: readonly QueuedUpload[],
  ): Promise<StoredUploads> => {
    const nowMs = latestNow();
    const decoded = decodeUploads(uploads, nowMs, limits.maxReadingAgeDays);
    for (const [reason, count] of decoded.flatMap(({ absentValues = {} }) => Object.entries(absentValues))) {
      metrics.absentValues.inc({ reason }, count);
    }
    const charged = await chunkBudget.charge(decoded, nowMs);
    const isPermanent = (error: unknown) => refused.isPermanent(jobs, error);
    const parts = divideByDevice(charged).map((part) => batches.store(part, isPermanent));
    const stored = joinStored(await Promise.all(parts));
    progress.stored();
    metrics.readings.inc(stored.readings);
    metrics.quarantined.inc(stored.quarantined.length);
    metrics.droppedValues.inc(charged.flatMap(({ faults }) => faults.filter(isValueFault)).length);
    const announced = changes.announce(stored);
    rejects
      .announce([...stored.quarantined, ...stored.partial], nowMs)
      .catch((err: unknown) => logger.warn({ err }, 'rejects not announced to devices'));
    if (stored.droppedUploads > 0) {
      metrics.droppedQuarantine.inc(stored.droppedUploads);
      logger.warn({ uploads: stored.droppedUploads }, 'uploads beyond the quarantine quota of their device dropped');
    }
    return { announced, postponed: stored.postponed };
  };
  const lanes = createLanes(storeUploads, processing.queueLate);
  const finish = async (stored: Promise<StoredUploads>, data: UploadBatch): Promise<void> => {
    const { uploads } = data;
    try {
      await (await stored).announced;
    } catch (error) {
      refused.failed(data, error);
      const description = describeDatabaseError(error);
      progress.failed(description);
      logger.warn({ ...description, uploads: uploads.length }, 'uploads not stored, retrying');
      throw new UploadsNotStored(description);
    }
    const oldestMs = uploads.reduce((oldest, { receivedAtMs }) => Math.min(oldest, receivedAtMs), Date.now());
    metrics.lagSeconds.observe(Math.max(0, Date.now() - oldestMs) / 1000);
  };
  return {
    async uploads(job: TypedJob<'uploads'>): Promise<void> {
      delayed.started(job);
      await finish(lanes.live(job.data), job.data);
      delayed.stored(job);
    },
    lateUploads: ({ data }: TypedJob<'late-uploads'>): Promise<void> => finish(lanes.late(data), data),
  };
}

const dayMicroseconds = 86_400_000_000;

/**
 * Decodes the uploads of a batch. Readings too far ahead of `nowMs` and readings older than `maxAgeDays` become faults.
 * Replays and imports have no age limit: the operator decided to store them.
 */
export function decodeUploads(
  uploads: readonly QueuedUpload[],
  nowMs: number,
  maxAgeDays = Number.POSITIVE_INFINITY,
): UploadInProgress[] {
  const latest = (nowMs / 1000 + maximumClockLeadSeconds) * 1e6;
  return uploads.map((upload) => {
    const { format = 'native', text, receivedAtMs } = upload;
    const decoded = { upload, ...decodeUpload(format, text ?? uploadBytes(upload), receivedAtMs) };
    const isLimited = upload.quarantineId === undefined && !upload.isImport;
    const oldest = isLimited ? nowMs * 1000 - maxAgeDays * dayMicroseconds : 0;
    return rejectReadings(decoded, ({ index, timeMicroseconds }) => {
      const fault = { index, field: 'timestamp' };
      if (timeMicroseconds > latest) {
        const message = `timestamp is more than ${maximumClockLeadSeconds} s in the future`;
        return { ...fault, reason: 'IN_THE_FUTURE', message };
      }
      if (timeMicroseconds >= oldest) return undefined;
      return { ...fault, reason: 'TOO_OLD', message: `timestamp is more than ${maxAgeDays} days in the past` };
    });
  });
}

/** Moves the readings for which `findFault` returns a fault from the readings of an upload to its faults. */
function rejectReadings(
  inProgress: UploadInProgress,
  findFault: (reading: DecodedReading) => QuarantineFault | undefined,
): UploadInProgress {
  const rejected: QuarantineFault[] = [];
  const readings = inProgress.readings.filter((reading) => {
    const fault = findFault(reading);
    if (fault) rejected.push(fault);
    return fault === undefined;
  });
  if (rejected.length === 0) return inProgress;
  return { ...inProgress, readings, faults: [...inProgress.faults, ...rejected] };
}

const hourMs = 3_600_000;
/** Chunks created by other batches and processes are unknown for at most this long. */
const refreshMs = 1000;
const maxDevices = 10_000;

/** The chunks of `reading` that exist, by their number since the epoch. */
interface Chunks {
  intervalMicroseconds: number;
  numbers: Set<number>;
  readAtMs: number;
}

async function readChunks(db: Database, nowMs: number): Promise<Chunks> {
  const { rows } = await sql<{ interval_us: number; start_us: number | null }>`
    select (extract(epoch from time_interval) * 1000000)::bigint as interval_us,
      (extract(epoch from range_start) * 1000000)::bigint as start_us
    from timescaledb_information.dimensions
    left join timescaledb_information.chunks using (hypertable_schema, hypertable_name)
    where hypertable_schema = current_schema() and hypertable_name = 'reading'`.execute(db);
  const intervalMicroseconds = rows[0]?.interval_us ?? Number.POSITIVE_INFINITY;
  const starts = rows.flatMap(({ start_us: start }) => (start === null ? [] : [start]));
  return {
    intervalMicroseconds,
    numbers: new Set(starts.map((start) => start / intervalMicroseconds)),
    readAtMs: nowMs,
  };
}

/**
 * Limits the new chunks that the readings of one sender create in an hour, because each chunk costs every query locks
 * and planning time. Chunks that exist are free, so a device that returns after months is stored. Each ingest process
 * keeps a budget of its own.
 */
class ChunkBudget {
  readonly #db: Database;
  readonly #perHour: number;
  readonly #created = new WindowCounter(hourMs, maxDevices);
  #chunks: Chunks | undefined;

  constructor(db: Database, perHour: number) {
    this.#db = db;
    this.#perHour = perHour;
  }

  /** Charges the new chunks of a batch to its senders. Readings over the budget become faults. */
  async charge(uploads: readonly UploadInProgress[], nowMs: number): Promise<readonly UploadInProgress[]> {
    if (this.#exist(uploads, nowMs)) return uploads;
    const chunks = await this.#chunksAt(nowMs);
    return uploads.map((inProgress) => {
      // The operator decided to store it.
      if (inProgress.upload.isImport) return inProgress;
      const sender = senderOf(inProgress);
      return rejectReadings(inProgress, ({ index, timeMicroseconds }) => {
        const chunk = Math.floor(timeMicroseconds / chunks.intervalMicroseconds);
        if (chunks.numbers.has(chunk)) return undefined;
        if (this.#created.read(sender, nowMs) >= this.#perHour) {
          const message = `the device may open at most ${this.#perHour} storage intervals without data in an hour`;
          return { index, reason: 'TOO_MANY_CHUNKS', field: 'timestamp', message };
        }
        this.#created.add(sender, nowMs);
        // Charged once, whether or not this batch creates the chunk: a retry, or a later reading that does, is free.
        chunks.numbers.add(chunk);
        return undefined;
      });
    });
  }

  /** Tells whether all chunks of a batch are known to exist. Forgets them after an hour, because chunks are dropped. */
  #exist(uploads: readonly UploadInProgress[], nowMs: number): boolean {
    const known = this.#chunks;
    if (known === undefined || Math.abs(nowMs - known.readAtMs) >= hourMs) return false;
    const { numbers, intervalMicroseconds } = known;
    return uploads.every(({ readings }) =>
      readings.every(({ timeMicroseconds }) => numbers.has(Math.floor(timeMicroseconds / intervalMicroseconds))),
    );
  }

  async #chunksAt(nowMs: number): Promise<Chunks> {
    if (this.#chunks && Math.abs(nowMs - this.#chunks.readAtMs) < refreshMs) return this.#chunks;
    this.#chunks = await readChunks(this.#db, nowMs);
    return this.#chunks;
  }
}
