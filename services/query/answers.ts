import { Readable } from 'node:stream';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Kysely, RawBuilder } from 'kysely';
import { inSnapshot, readBatch } from './batches.ts';
import type { ReadBudget, Reader, Reservation } from './read-budget.ts';

/** A part of an answer, and where the next one starts; without `next` it is the last. */
export interface Part<Next> {
  readonly text: string;
  readonly next?: Next | undefined;
}

/**
 * Reads a part of an answer in a snapshot of its own.
 * @param bytes how many bytes fit
 * @param from where the part starts; undefined for the first
 */
type ReadPart<Next> = (snapshot: Database, bytes: number, from: Next | undefined) => Promise<Part<Next>>;

/** 10,000 usual readings, the largest page, fit into one part. */
const partBytes = 8 * 1024 * 1024;
const chunkBytes = 128 * 1024;
/** The rate of a client is its mean over this time, so that bytes in the buffers of the network count once only. */
const rateWindowMs = 15_000;

export interface AnswersOptions {
  readonly db: Kysely<Tables>;
  readonly budget: ReadBudget;
  /** A client that reads more slowly loses its answer. */
  readonly minimumBytesPerSecond: number;
}

/**
 * Opens answers whose size only the data decides. An answer is read from the database in parts, each in a short snapshot of
 * its own, and counts towards a budget until the client has read it; nothing of the database is held meanwhile.
 */
export class Answers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /**
   * Opens an answer; its first part has been read then, so that a failure can still be answered as one. When the database
   * fails later the stream is destroyed, so that the answer can never look complete.
   * @param bytes how many bytes to reserve for a part, at most 8 MiB
   * @throws Failure OVERLOADED; whatever `read` throws for the first part
   */
  async open<Next>(reader: Reader, read: ReadPart<Next>, bytes = partBytes): Promise<Readable> {
    const { db, budget, minimumBytesPerSecond } = this.#options;
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
    return new AnswerStream(await readPart(undefined), readPart, minimumBytesPerSecond);
  }

  /**
   * Opens a JSON array of rows that have an id, in the order of the id. Each part sees the rows as they are when it is read.
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

/** Sends parts as fast as the client reads them, and reads the next one when the client has taken the one before. */
class AnswerStream<Next> extends Readable {
  readonly #readPart: (from: Next) => Promise<ReservedPart<Next>>;
  readonly #minimumBytesPerSecond: number;
  readonly #rateCheck = setInterval(() => this.#checkRate(), rateWindowMs);
  #part: ReservedPart<Next>;
  #taken = 0;
  #takenInWindow = 0;
  /** In this window the client had to wait for the database. */
  #clientWaited = false;
  #isReading = false;

  constructor(
    first: ReservedPart<Next>,
    readPart: (from: Next) => Promise<ReservedPart<Next>>,
    minimumBytesPerSecond: number,
  ) {
    super({ highWaterMark: chunkBytes });
    this.#part = first;
    this.#readPart = readPart;
    this.#minimumBytesPerSecond = minimumBytesPerSecond;
    this.#rateCheck.unref();
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
    // A chunk counts only once it is taken whole.
    const leastBytes = Math.max(1, (this.#minimumBytesPerSecond * rateWindowMs) / 1000 - chunkBytes);
    if (!this.#clientWaited && this.#takenInWindow < leastBytes) this.destroy(new Error('client reads too slowly'));
    this.#takenInWindow = 0;
    this.#clientWaited = this.#isReading;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#rateCheck);
    this.#part.reservation.release();
    done(error);
  }
}
