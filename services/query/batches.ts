import type { Database } from '@odograph/database/database';
import type { Tables } from '@odograph/database/tables';
import { type Kysely, type RawBuilder, sql } from 'kysely';

/** Rows of a query as JSON elements, as many as fit. */
export interface Batch<Row> {
  /** The elements, separated by commas. */
  readonly text: string;
  readonly rows: number;
  readonly last: Row | undefined;
  /** Whether these are all rows of the query. */
  readonly isComplete: boolean;
}

const firstFetchRows = 200;
const mostFetchRows = 2000;
/** A fetch is aimed at so many bytes, so that rows larger than those before cannot make it huge. */
const fetchBytes = 1024 * 1024;

/**
 * Runs `work` in a read-only snapshot. It must not wait for anything but the database: a snapshot holds a connection, and on
 * the embedded engine everything else waits for it.
 */
export function inSnapshot<T>(db: Kysely<Tables>, work: (snapshot: Database) => Promise<T>): Promise<T> {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute(work);
}

/**
 * Reads rows up to a number of bytes, at least one row.
 * @param snapshot a transaction; a cursor in it is opened and closed
 * @param write returns the JSON text of a row
 */
export async function readBatch<Row>(
  snapshot: Database,
  query: RawBuilder<Row>,
  write: (row: Row) => string,
  bytes: number,
): Promise<Batch<Row>> {
  await sql`declare batch no scroll cursor for ${query}`.execute(snapshot);
  const elements: string[] = [];
  let last: Row | undefined;
  let left = bytes;
  let count = firstFetchRows;
  for (;;) {
    const { rows } = await sql<Row>`fetch forward ${sql.lit(count)} from batch`.execute(snapshot);
    for (const row of rows) {
      const element = write(row);
      left -= Buffer.byteLength(element) + 1;
      if (left < 0 && last !== undefined) return close(false);
      elements.push(element);
      last = row;
    }
    if (rows.length < count) return close(true);
    const average = (bytes - left) / elements.length;
    count = Math.max(1, Math.min(mostFetchRows, Math.ceil(fetchBytes / average), Math.ceil(left / average)));
  }

  async function close(isComplete: boolean): Promise<Batch<Row>> {
    await sql`close batch`.execute(snapshot);
    return { text: elements.join(','), rows: elements.length, last, isComplete };
  }
}
