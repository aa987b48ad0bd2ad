import { Readable } from 'node:stream';
import { sendPage } from '@odograph/http/paging';
import Type from 'typebox';

const batchRows = 1000;

/**
 * Streams a list as JSON, `{ "<name>": [...] }`, in batches. No connection of the database is held while the client reads.
 * @param read reads at most `count` rows after a row, from the start without one
 */
async function streamList<Row>(
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

const maxOffset = 2_147_483_647;

/** The query parameters of a list. @param elements their name in descriptions */
export const ListPage = (elements: string) =>
  Type.Object({
    offset: Type.Integer({ minimum: 0, maximum: maxOffset, default: 0, description: `${elements} to skip` }),
    limit: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxOffset, description: `${elements} to return; all by default` }),
    ),
  });
export type ListPage = Type.Static<ReturnType<typeof ListPage>>;

/** A part of a list: `count` rows after a row, or after `offset` of them. */
export interface ListPart<Row> {
  readonly offset: number;
  readonly after?: Row | undefined;
  readonly count: number;
}

type Reply = Parameters<typeof sendPage>[0];

/** Sends a list: all of it, or a page with a link to the next one. */
export async function sendList<Row>(
  reply: Reply,
  { offset, limit }: ListPage,
  {
    name,
    path,
    describe,
    read,
  }: {
    name: string;
    path: string;
    describe(row: Row): object;
    read(part: ListPart<Row>): Promise<Row[]>;
  },
): Promise<Reply> {
  const body = await streamList(name, describe, (after, count) => read({ offset, after, count }), limit);
  if (limit === undefined || limit === 0) return sendPage(reply, body, undefined);
  const following = await read({ offset: offset + limit, count: 1 });
  const parameters = { offset: String(offset + limit), limit: String(limit) };
  return sendPage(reply, body, following.length > 0 ? { path, parameters } : undefined);
}
