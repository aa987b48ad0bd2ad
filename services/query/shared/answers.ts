import { Readable } from 'node:stream';
import { inSnapshot, readBatch, type Send } from '@odograph/database/batches';
import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import type { Kysely, RawBuilder } from 'kysely';
import type { BudgetUser, ReadBudget, Reader, Reservation } from './read-budget.ts';

/** Takes pieces of an answer as they are read: text, or bytes. */
export type SendData = (data: string | Uint8Array) => void;

/** The end of a part of an answer and the start of the next part; the last part has no `next`. */
export interface Part<Next> {
  readonly text: string | Uint8Array;
  readonly next?: Next | undefined;
}

/** A part of an answer to read in its own snapshot. */
export interface PartRequest<Next> {
  readonly snapshot: Database;
  /** Maximum size. */
  readonly bytes: number;
  /** Start of the part; undefined for the first. */
  readonly from: Next | undefined;
  /** Sends data ahead of the end of the part. The first data also sends the headers of the answer. */
  readonly send: SendData;
}

type ReadPart<Next> = (request: PartRequest<Next>) => Promise<Part<Next>>;

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
   * Opens an answer. Resolves with its first text, so that a failure before can still be answered as one. When the database
   * fails later, the stream is destroyed, so that the answer does not look complete.
   * @param bytes size to reserve for a part, at most 8 MiB
   * @throws Failure OVERLOADED; whatever `read` throws before the first text
   */
  open<Next>(reader: Reader, read: ReadPart<Next>, bytes = partBytes): Promise<Readable> {
    const { db, budget } = this.#options;
    const room = Math.min(bytes, partBytes, budget.maxReservation);
    return this.#open<Next>({
      reserve: () => budget.reserve(reader, room),
      readPart: (from, send) => inSnapshot(db, (snapshot) => read({ snapshot, bytes: room, from, send })),
    });
  }

  /**
   * Opens an answer that is built in memory as a whole. It reserves the largest possible share, which bounds how many are built
   * at once.
   * @param read builds the answer; releases all but the bytes that it needs with `shrinkTo`, once it knows them
   * @throws Failure OVERLOADED; whatever `read` throws
   */
  openWhole(reader: BudgetUser, read: (shrinkTo: (bytes: number) => void) => Promise<string>): Promise<Readable> {
    const { budget } = this.#options;
    let reservation: Reservation | undefined;
    return this.#open<never>({
      async reserve() {
        reservation = await budget.reserve(reader, budget.maxReservation);
        return reservation;
      },
      readPart: async () => ({ text: await read((bytes) => reservation?.shrinkTo(bytes)) }),
    });
  }

  async #open<Next>(parts: Pick<AnswerStreamOptions<Next>, 'reserve' | 'readPart'>): Promise<Readable> {
    const { minimumBytesPerSecond, rateWindowMs } = this.#options;
    const answer = new AnswerStream<Next>({ minimumBytesPerSecond, rateWindowMs, ...parts });
    await answer.start();
    return answer;
  }

  /**
   * Opens a JSON array of rows in the order of their ids. Each part has its own snapshot.
   * @param query selects the rows with an id greater than `after`, in order
   */
  async openList(
    reader: Reader,
    query: (snapshot: Database, after: number) => RawBuilder<ListRow> | Promise<RawBuilder<ListRow>>,
  ): Promise<Readable> {
    return this.open<number>(reader, async ({ snapshot, bytes, from: after, send }) => {
      const rows = await query(snapshot, after ?? 0);
      const first = after === undefined ? '[' : ',';
      const batch = await readBatch(snapshot, rows, ({ json }) => json, bytes, startWith(first, send));
      if (!batch.isComplete) return { text: '', next: batch.last?.id };
      return { text: after === undefined && batch.rows === 0 ? '[]' : ']' };
    });
  }
}

/** Sends a text before the first piece that is sent. */
export function startWith(start: string, send: SendData): Send {
  let before = start;
  return (piece) => {
    send(before);
    before = '';
    send(piece);
  };
}

export interface ListRow {
  readonly id: number;
  readonly json: string;
}

interface AnswerStreamOptions<Next> extends Pick<AnswersOptions, 'minimumBytesPerSecond' | 'rateWindowMs'> {
  /** Reserves the bytes of a part. */
  reserve(): Promise<Reservation>;
  readPart(from: Next | undefined, send: SendData): Promise<Part<Next>>;
}

/**
 * Streams parts at the speed of the client. Reads a part at the speed of the database, and the next part when the client
 * has read the previous one.
 */
class AnswerStream<Next> extends Readable {
  readonly #options: AnswerStreamOptions<Next>;
  readonly #minBytesInWindow: number;
  readonly #rateCheck: NodeJS.Timeout;
  /** Chunks of the part that the client has not taken. */
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #reservation: Reservation | undefined;
  #next: Next | undefined;
  #isReading = false;
  /** The client has taken everything and waits for more. */
  #isWanted = false;
  #takenInWindow = 0;
  /** Whether the client waited for the database in this window. */
  #clientWaited = false;
  #onText: () => void = () => undefined;

  constructor(options: AnswerStreamOptions<Next>) {
    super({ highWaterMark: chunkBytes });
    this.#options = options;
    const { minimumBytesPerSecond, rateWindowMs } = options;
    // A chunk counts when it has been read completely.
    this.#minBytesInWindow = Math.max(1, (minimumBytesPerSecond * rateWindowMs) / 1000 - chunkBytes);
    this.#rateCheck = setInterval(() => this.#checkRate(), rateWindowMs).unref();
    // A failure before the stream has a reader must not end the process; a later reader gets it all the same.
    this.on('error', () => undefined);
  }

  /** Reads the first part; resolves with its first text. @throws whatever fails before */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onText = resolve;
      this.#readPart(undefined).then(resolve, (error: Error) => {
        reject(error);
        this.destroy(error);
      });
    });
  }

  override _read(): void {
    if (!this.#isReading) this.#reservation?.shrinkTo(this.#unsentBytes);
    const chunk = this.#unsent.shift();
    if (chunk !== undefined) {
      this.#unsentBytes -= chunk.length;
      this.#takenInWindow += chunk.length;
      this.push(chunk);
    } else if (this.#isReading) this.#isWanted = true;
    else if (this.#next === undefined) this.push(null);
    else this.#readPart(this.#next).catch((error: Error) => this.destroy(error));
  }

  async #readPart(from: Next | undefined): Promise<void> {
    this.#isReading = true;
    this.#isWanted = from !== undefined;
    this.#clientWaited = true;
    const reservation = await this.#options.reserve();
    this.#reservation = reservation;
    if (this.destroyed) return reservation.release();
    try {
      const { text, next } = await this.#options.readPart(from, (piece) => this.#add(piece));
      this.#isReading = false;
      this.#next = next;
      this.#add(text);
    } catch (error) {
      this.#isReading = false;
      reservation.release();
      throw error;
    }
    reservation.shrinkTo(this.destroyed ? 0 : this.#unsentBytes);
    this.#readOn();
  }

  #add(piece: string | Uint8Array): void {
    if (piece.length === 0 || this.destroyed) return;
    const data = typeof piece === 'string' ? Buffer.from(piece) : piece;
    for (let start = 0; start < data.length; start += chunkBytes) {
      this.#unsent.push(data.subarray(start, start + chunkBytes));
    }
    this.#unsentBytes += data.length;
    this.#onText();
    this.#readOn();
  }

  /** Continues for a client that waits. */
  #readOn(): void {
    if (!this.#isWanted || this.destroyed) return;
    this.#isWanted = false;
    this._read();
  }

  #checkRate(): void {
    const isSlow = !this.#clientWaited && this.#takenInWindow < this.#minBytesInWindow;
    if (isSlow) this.destroy(new Error('client reads too slowly'));
    this.#takenInWindow = 0;
    this.#clientWaited = this.#isReading;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearInterval(this.#rateCheck);
    this.#unsent = [];
    if (!this.#isReading) this.#reservation?.release();
    done(error);
  }
}
