import { Readable } from 'node:stream';

const batchRows = 1000;

/**
 * Streams a list as JSON, `{ "<name>": [...] }`, in batches. No connection of the database is held while the client reads.
 * @param read reads at most `count` rows after a row, from the start without one
 */
export async function streamList<Row>(
  name: string,
  describe: (row: Row) => object,
  read: (after: Row | undefined, count: number) => Promise<Row[]>,
  limit = Number.POSITIVE_INFINITY,
): Promise<Readable> {
  // Before the first byte of the answer, so that a failure still has its own status.
  const first = await read(undefined, Math.min(batchRows, limit));
  async function* parts() {
    yield `{"${name}":[`;
    let sent = 0;
    for (let rows = first; rows.length > 0; ) {
      yield `${sent === 0 ? '' : ','}${rows.map((row) => JSON.stringify(describe(row))).join(',')}`;
      sent += rows.length;
      const remaining = limit - sent;
      rows = rows.length < batchRows || remaining <= 0 ? [] : await read(rows.at(-1), Math.min(batchRows, remaining));
    }
    yield ']}';
  }
  return Readable.from(parts(), { objectMode: false });
}
