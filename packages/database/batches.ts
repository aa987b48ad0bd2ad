import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import { CursorRows } from './session.ts';
import type { Tables } from './tables.ts';

/** The first rows of a query, up to a number of bytes. */
export interface Batch<Row> {
  readonly rows: number;
  readonly last: Row | undefined;
  /** Whether these are all rows of the query. */
  readonly isComplete: boolean;
}

const firstFetchRows = 100;
const maxFetchRows = 2000;
/** Target size of a fetch, small enough that a fetch of unexpectedly large rows is bounded. */
const fetchBytes = 1024 * 1024;

/**
 * Runs `work` in a read-only snapshot. It must wait for nothing but the database: a snapshot occupies a connection, on the
 * embedded engine the only one.
 */
export function inSnapshot<T>(db: Kysely<Tables>, work: (snapshot: Database) => Promise<T>): Promise<T> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work);
}

/** Takes UTF-8 in pieces of whole rows, as they are read. */
export type Send = (piece: Buffer) => void;

/** Receives rows as they are fetched. */
interface RowTaker<Row> {
  /** Bytes that a row took on average so far; undefined before the first. */
  averageBytes(): number | undefined;
  /** Bytes that it still has room for. */
  room(): number;
  /** Takes rows. @returns false once it is full */
  take(rows: readonly Row[]): boolean;
}

/**
 * Fetches the rows of a query until the taker is full.
 * @param snapshot a transaction; a cursor in it is opened and closed
 * @returns whether these were all rows
 */
export async function fetchRows<Row>(
  snapshot: Database,
  query: RawBuilder<Row>,
  taker: RowTaker<Row>,
): Promise<boolean> {
  await sql`declare batch no scroll cursor for ${query}`.execute(snapshot);
  const fetch = async (count: number) => {
    const { rows } = await sql<Row>`fetch ${new CursorRows('batch', count)}`.execute(snapshot);
    return { rows, isLast: rows.length < count };
  };
  let isFull = false;
  for (let fetched = fetch(firstFetchRows); ; ) {
    const { rows, isLast } = await fetched;
    // The database prepares the next rows while these are formatted.
    const next = isLast ? undefined : fetch(fetchSize(taker));
    next?.catch(() => undefined);
    isFull = !taker.take(rows);
    if (isFull) await next;
    if (isFull || next === undefined) break;
    fetched = next;
  }
  await sql`close batch`.execute(snapshot);
  return !isFull;
}

function fetchSize(taker: RowTaker<never>): number {
  const average = taker.averageBytes();
  if (average === undefined) return firstFetchRows;
  return Math.max(1, Math.min(maxFetchRows, Math.ceil(fetchBytes / average), Math.ceil(taker.room() / average)));
}

/** Size of the buffers that rows are encoded into: one by one takes a third of the time of joining the rows first. */
const bufferBytes = 128 * 1024;
/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const maxUnitBytes = 3;
const comma = 0x2c;

/**
 * Reads rows up to a number of bytes, at least one row.
 * @param snapshot a transaction
 * @param write returns the JSON text of a row
 * @param send takes the rows, separated by commas
 */
export async function readBatch<Row>(
  snapshot: Database,
  query: RawBuilder<Row>,
  write: (row: Row) => string,
  bytes: number,
  send: Send,
): Promise<Batch<Row>> {
  let written = 0;
  let last: Row | undefined;
  let left = bytes;
  const isComplete = await fetchRows(snapshot, query, {
    averageBytes: () => (written === 0 ? undefined : (bytes - left) / written),
    room: () => left,
    take(rows) {
      let buffer = Buffer.alloc(0);
      let end = 0;
      const flush = () => {
        // The budget of an answer counts only the bytes sent, so it must not keep a mostly empty buffer.
        if (end > 0) send(end < buffer.length / 2 ? Buffer.from(buffer.subarray(0, end)) : buffer.subarray(0, end));
      };
      for (const [index, row] of rows.entries()) {
        const element = write(row);
        const needed = element.length * maxUnitBytes + 1;
        if (end + needed > buffer.length) {
          flush();
          buffer = Buffer.allocUnsafe(Math.max(needed, Math.min(bufferBytes, needed * (rows.length - index))));
          end = 0;
        }
        const start = written === 0 ? end : buffer.writeUInt8(comma, end);
        const next = start + buffer.write(element, start);
        left -= next - start + 1;
        if (left < 0 && last !== undefined) {
          flush();
          return false;
        }
        end = next;
        last = row;
        written += 1;
      }
      flush();
      return true;
    },
  });
  return { rows: written, last, isComplete };
}
