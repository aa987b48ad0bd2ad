import { Readable } from 'node:stream';
import { type RawBuilder, sql } from 'kysely';
import type { Snapshot } from './snapshot.ts';

/** The text around the elements of an answer. */
export interface Frame {
  readonly start: string;
  readonly end: string;
}

export const listFrame: Frame = { start: '[', end: ']' };

/** The first rows are few, so that the first byte is early. */
const firstRows = 200;
const rowsPerFetch = 2000;
/** An answer up to this size frees its database connection however slowly the client reads. */
const readAheadBytes = 16 * 1024 * 1024;
/** A client that has not taken a larger answer by then loses it. */
const longestReadMs = 60_000;

/**
 * Sends the rows of a query as JSON elements while they are read; at most about 16 MB wait in memory. When the database
 * fails in the middle the stream is destroyed, so that the answer can never look whole. Closes the snapshot in the end.
 * @param write gives the JSON text of a row
 * @throws whatever the first rows raise, before anything is sent
 */
export async function streamJson<Row>(
  snapshot: Snapshot,
  query: RawBuilder<Row>,
  frame: Frame,
  write: (row: Row) => string,
): Promise<Readable> {
  await sql`declare answer no scroll cursor for ${query}`.execute(snapshot.db);
  const fetchRows = async (count: number) => {
    const { rows } = await sql<Row>`fetch forward ${sql.raw(String(count))} from answer`.execute(snapshot.db);
    return { text: rows.map(write).join(','), empty: rows.length === 0, last: rows.length < count };
  };
  const first = await fetchRows(firstRows);
  let upcoming = Promise.resolve(first);

  const next = async (stream: Readable) => {
    const batch = await upcoming;
    const start = batch === first ? frame.start : batch.empty ? '' : ',';
    if (batch.last) {
      await snapshot.close();
      stream.push(start + batch.text + frame.end);
      stream.push(null);
      return;
    }
    // The database is at work on the next rows while these are sent.
    upcoming = fetchRows(rowsPerFetch);
    upcoming.catch(() => undefined);
    stream.push(start + batch.text);
  };

  const deadline = setTimeout(() => stream.destroy(new Error('the client reads too slowly')), longestReadMs);
  const stream = new Readable({
    highWaterMark: readAheadBytes,
    read() {
      next(this).catch((error: Error) => this.destroy(error));
    },
    destroy(error, done) {
      clearTimeout(deadline);
      void snapshot.close().finally(() => done(error));
    },
  });
  return stream;
}
