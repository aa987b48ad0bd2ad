import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
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

/** Takes text in pieces, as it is read. */
export type Send = (text: string) => void;

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
    const { rows } = await sql<Row>`fetch forward ${sql.lit(count)} from batch`.execute(snapshot);
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

/**
 * Reads rows up to a number of bytes, at least one row.
 * @param snapshot a transaction
 * @param write returns the JSON text of a row
 * @param send takes the texts of the rows, separated by commas
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
      const elements: string[] = [];
      let isFull = false;
      for (const row of rows) {
        const element = write(row);
        left -= Buffer.byteLength(element) + 1;
        isFull = left < 0 && last !== undefined;
        if (isFull) break;
        elements.push(element);
        last = row;
      }
      if (elements.length > 0) send((written > 0 ? ',' : '') + elements.join(','));
      written += elements.length;
      return !isFull;
    },
  });
  return { rows: written, last, isComplete };
}
