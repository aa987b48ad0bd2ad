import type { DecodedReading } from '@odograph/codec/shared/readings';
import { decodeUpload } from '@odograph/codec/uploads';
import type { QueuedUpload } from '@odograph/contracts/queues';
import { maximumClockLeadSeconds } from '@odograph/contracts/telemetry';
import type { Database } from '@odograph/database/database';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { sql } from 'kysely';
import { type QuarantineFault, type UploadInProgress, uploadBytes } from '../pipeline/readings.ts';

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
export function rejectReadings(
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
 * Limits the new chunks that the readings of one device create in an hour, because each chunk costs every query locks and
 * planning time. Chunks that exist are free, so a device that returns after months is stored. Each ingest process keeps a
 * budget of its own.
 */
export class ChunkBudget {
  readonly #db: Database;
  readonly #perHour: number;
  readonly #created = new WindowCounter(hourMs, maxDevices);
  #chunks: Chunks | undefined;

  constructor(db: Database, perHour: number) {
    this.#db = db;
    this.#perHour = perHour;
  }

  /** Charges the new chunks of a batch to its devices. Readings over the budget become faults. */
  async charge(uploads: readonly UploadInProgress[], nowMs: number): Promise<readonly UploadInProgress[]> {
    if (this.#exist(uploads, nowMs)) return uploads;
    const chunks = await this.#chunksAt(nowMs);
    return uploads.map((inProgress) => {
      // The operator decided to store it.
      if (inProgress.upload.isImport) return inProgress;
      return rejectReadings(inProgress, ({ index, timeMicroseconds }) => {
        const chunk = Math.floor(timeMicroseconds / chunks.intervalMicroseconds);
        if (chunks.numbers.has(chunk)) return undefined;
        const { deviceId } = inProgress.upload;
        if (this.#created.read(deviceId, nowMs) >= this.#perHour) {
          const message = `the device may open at most ${this.#perHour} storage intervals without data in an hour`;
          return { index, reason: 'TOO_MANY_CHUNKS', field: 'timestamp', message };
        }
        this.#created.add(deviceId, nowMs);
        // Charged once, whether or not this batch creates the chunk: a retry, or a later reading that does, is free.
        chunks.numbers.add(chunk);
        return undefined;
      });
    });
  }

  /** Whether all chunks that a batch needs are known to exist; for an hour, because chunks are dropped. */
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
