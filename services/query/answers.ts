import { Readable } from 'node:stream';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Kysely, RawBuilder } from 'kysely';
import { inSnapshot, readBatch } from './batches.ts';
import type { ReadBudget, Reader, Reservation } from './read-budget.ts';

/** A part of an answer and the start of the next part; the last part has no `next`. */
export interface Part<Next> {
  readonly text: string;
  readonly next?: Next | undefined;
}

/**
 * Reads a part of an answer in its own snapshot.
 * @param bytes maximum size
 * @param from start of the part; undefined for the first
 */
type ReadPart<Next> = (snapshot: Database, bytes: number, from: Next | undefined) => Promise<Part<Next>>;

/** 10,000 typical readings, the largest page, fit into one part. */
const partBytes = 8 * 1024 * 1024;
const chunkBytes = 128 * 1024;
export interface AnswersOptions {
  readonly db: Kysely<Tables>;
  readonly budget: ReadBudget;
  /** The answer of a slower client is aborted. */
  readonly minimumBytesPerSecond: number;
  /** Window for the mean rate of a client, long enough that bytes in network buffers are insignificant. */
  readonly rateWindowMs: number;
}

/**
 * Opens answers of unbounded size. An answer is read from the database in parts, each in its own short snapshot, and counts
 * towards a budget until the client has read it; no database resource is held in between.
 */
export class Answers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /**
   * Opens an answer after reading its first part, so that a failure can still be answered as one. When the database fails
   * later, the stream is destroyed, so that the answer does not look complete.
   * @param bytes size to reserve for a part, at most 8 MiB
   * @throws Failure OVERLOADED; whatever `read` throws for the first part
   */
  async open<Next>(reader: Reader, read: ReadPart<Next>, bytes = partBytes): Promise<Readable> {
    const { db, budget } = this.#options;
    const room = Math.min(bytes, partBytes, budget.largestReservation);
    const readPart = async (from: Next | undefined): Promise<ReservedPart<Next>> => {
      const reservation = await budget.reserve(reader, room);
      try {
        const { text, next } = await inSnapshot(db, (snapshot) => read(snapshot, room, from));
        const data = Buffer.from(text);
        reservation.shrinkTo(data.length);
        return { data, next, reservation };
      } catch (error) {
        reservation.release();
        throw error;
      }
    };
    return new AnswerStream(await readPart(undefined), readPart, this.#options);
  }

  /**
   * Opens a JSON array of rows in the order of their ids. Each part has its own snapshot.
   * @param query selects the rows with an id greater than `after`, in order
   */
  async openList(
    reader: Reader,
    query: (snapshot: Database, after: number) => RawBuilder<ListRow> | Promise<RawBuilder<ListRow>>,
  ): Promise<Readable> {
    return this.open<number>(reader, async (snapshot, bytes, after) => {
      const rows = await query(snapshot, after ?? 0);
      const batch = await readBatch(snapshot, rows, ({ json }) => json, bytes);
      const start = after === undefined ? '[' : batch.rows === 0 ? '' : ',';
      if (batch.isComplete) return { text: `${start}${batch.text}]` };
      return { text: start + batch.text, next: batch.last?.id };
    });
  }
}

export interface ListRow {
  readonly id: number;
  readonly json: string;
}

interface ReservedPart<Next> extends Pick<Part<Next>, 'next'> {
  readonly data: Buffer;
  readonly reservation: Reservation;
}

/** Streams parts at the speed of the client; reads the next part when the client has read the previous one. */
class AnswerStream<Next> extends Readable {
  readonly #readPart: (from: Next) => Promise<ReservedPart<Next>>;
  readonly #leastBytesInWindow: number;
  readonly #rateCheck: NodeJS.Timeout;
  #part: ReservedPart<Next>;
  #taken = 0;
  #takenInWindow = 0;
  /** Whether the client waited for the database in this window. */
  #clientWaited = false;
  #isReading = false;

  constructor(
    first: ReservedPart<Next>,
    readPart: (from: Next) => Promise<ReservedPart<Next>>,
    { minimumBytesPerSecond, rateWindowMs }: AnswersOptions,
  ) {
    super({ highWaterMark: chunkBytes });
    this.#part = first;
    this.#readPart = readPart;
    // A chunk counts when it has been read completely.
    this.#leastBytesInWindow = Math.max(1, (minimumBytesPerSecond * rateWindowMs) / 1000 - chunkBytes);
    this.#rateCheck = setInterval(() => this.#checkRate(), rateWindowMs).unref();
  }

  override _read(): void {
    const { data, reservation, next } = this.#part;
    if (this.#taken < data.length) {
      reservation.shrinkTo(data.length - this.#taken);
      const chunk = data.subarray(this.#taken, this.#taken + chunkBytes);
      this.#taken += chunk.length;
      this.#takenInWindow += chunk.length;
      this.push(chunk);
      return;
    }
    reservation.release();
    if (next === undefined) this.push(null);
    else this.#readNext(next).catch((error: Error) => this.destroy(error));
  }

  async #readNext(next: Next): Promise<void> {
    this.#isReading = true;
    this.#clientWaited = true;
    const part = await this.#readPart(next);
    this.#isReading = false;
    if (this.destroyed) return part.reservation.release();
    this.#part = part;
    this.#taken = 0;
    this._read();
  }

  #checkRate(): void {
    const isSlow = !this.#clientWaited && this.#takenInWindow < this.#leastBytesInWindow;
    if (isSlow) this.destroy(new Error('client reads too slowly'));
    this.#takenInWindow = 0;
    this.#clientWaited = this.#isReading;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#rateCheck);
    this.#part.reservation.release();
    done(error);
  }
}
