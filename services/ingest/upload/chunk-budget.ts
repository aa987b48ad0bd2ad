import type { Database } from '@odograph/database/database';
import { WindowCounter } from '@odograph/runtime/window-counter';
import { sql } from 'kysely';
import { type QuarantineFault, rejectReadings, type UploadInProgress } from './decode-uploads.ts';

const hourMs = 3_600_000;
/** Chunks created by other batches and processes are unknown for at most this long. */
const refreshMs = 1000;
/** Maximum of counted devices. */
const maximumDevices = 10_000;

interface ChunkRow {
  interval_us: number;
  start_us: number | null;
}

/** The chunks of `reading` that exist, by their number since the epoch. */
interface Chunks {
  intervalMicroseconds: number;
  numbers: Set<number>;
  readAtMs: number;
}

async function readChunks(db: Database, nowMs: number): Promise<Chunks> {
  const { rows } = await sql<ChunkRow>`
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
  readonly #created: WindowCounter = new WindowCounter(hourMs, maximumDevices);
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
        if (this.#created.read(deviceId, nowMs) >= this.#perHour) return this.#fault(index);
        this.#created.add(deviceId, nowMs);
        // The batch creates it, and a retry of a failed transaction is free. For a reading without a linked vehicle, nothing
        // is created: a reading that does create the chunk is free then, because this device has paid for it. So no
        // number of devices creates more chunks than their budgets allow.
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

  #fault(index: number): QuarantineFault {
    const message = `the device may open at most ${this.#perHour} storage intervals without data in an hour`;
    return { index, reason: 'TOO_MANY_CHUNKS', field: 'timestamp', message };
  }
}
