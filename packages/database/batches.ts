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
const mostFetchRows = 2000;
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

/**
 * Reads rows up to a number of bytes, at least one row.
 * @param snapshot a transaction; a cursor in it is opened and closed
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
  await sql`declare batch no scroll cursor for ${query}`.execute(snapshot);
  let written = 0;
  let last: Row | undefined;
  let left = bytes;
  let isFull = false;
  const fetch = async (count: number) => {
    const { rows } = await sql<Row>`fetch forward ${sql.lit(count)} from batch`.execute(snapshot);
    return { rows, isLast: rows.length < count };
  };
  const take = (rows: readonly Row[]) => {
    const elements: string[] = [];
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
  };
  for (let fetched = fetch(firstFetchRows); ; ) {
    const { rows, isLast } = await fetched;
    // The database prepares the next rows while these are formatted.
    const next = isLast ? undefined : fetch(nextCount());
    next?.catch(() => undefined);
    take(rows);
    if (isFull) await next;
    if (isFull || next === undefined) break;
    fetched = next;
  }
  await sql`close batch`.execute(snapshot);
  return { rows: written, last, isComplete: !isFull };

  function nextCount(): number {
    if (written === 0) return firstFetchRows;
    const average = (bytes - left) / written;
    return Math.max(1, Math.min(mostFetchRows, Math.ceil(fetchBytes / average), Math.ceil(left / average)));
  }
}
