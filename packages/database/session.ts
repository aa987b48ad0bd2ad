import { finished } from 'node:stream/promises';
import { currentTracer } from '@odograph/runtime/tracing';
import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { type Connection, type Pool, type PoolClient, Query, type QueryResult } from 'pg';
import { from } from 'pg-copy-streams';

/** The data of a COPY FROM STDIN statement: its only parameter. */
export class CopyData {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** The rows that a FETCH statement takes from a cursor: its only parameter. */
export class CursorRows {
  readonly cursor: string;
  readonly count: number;

  constructor(cursor: string, count: number) {
    this.cursor = cursor;
    this.count = count;
  }
}

type Result = Pick<QueryResult, 'command' | 'rows'>;

/**
 * Fetches rows with an Execute message of the protocol, in which a cursor is a portal. The statement FETCH would
 * collect all rows in a tuplestore before it sends the first, while this process waits.
 */
class PortalFetch extends Query {
  constructor({ cursor, count }: CursorRows, callback: (error: Error | undefined, result: Result) => void) {
    super('fetch', callback);
    this.submit = (connection: Connection) => {
      connection.stream.cork();
      connection.describe({ type: 'P', name: cursor }, true);
      connection.execute({ portal: cursor, rows: String(count) }, true);
      connection.sync();
      connection.stream.uncork();
    };
  }

  /** Called when more rows may follow; pg would fetch all of them. */
  handlePortalSuspended(): void {}
}

/** Returns the command and the first table of a statement, such as `select reading`; no text that could hold a value. */
function summarizeStatement(text: string): string {
  const command = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? 'statement';
  const table = /\b(?:from|into|update|copy)\s+(?:only\s+)?"?([a-z_][a-z_0-9.]*)/i.exec(text)?.[1];
  return table === undefined ? command : `${command} ${table}`;
}

/** Passes the statements of Kysely to a connection: prepares them, runs COPY and FETCH, and makes spans of traced work. */
class Session implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #maxPrepared: number;
  /** Names of the prepared statements by their text. */
  readonly #names = new Map<string, string>();

  constructor(client: PoolClient, maxPrepared: number) {
    this.#client = client;
    this.#maxPrepared = maxPrepared;
  }

  query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>;
  query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>;
  query(text: unknown, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new TypeError('cursors are not supported');
    const tracer = currentTracer();
    if (tracer?.traceparent === undefined) return this.#run(text, values);
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summarizeStatement(text) };
    const span = tracer.startSpan({ name: attributes['db.query.summary'], kind: 'client', attributes });
    const result = this.#run(text, values);
    result.then(
      () => span.end(),
      (error: unknown) => span.fail(error),
    );
    return result;
  }

  release(): void {
    this.#client.release();
  }

  #run(text: string, values: readonly unknown[]): Promise<Result> {
    const [data] = values;
    if (data instanceof CopyData) return this.#copy(text, data);
    if (data instanceof CursorRows) return this.#fetch(data);
    const name = values.length > 0 ? this.#nameOf(text) : undefined;
    return this.#client.query({ text, values: [...values], ...(name !== undefined && { name }) });
  }

  #fetch(rows: CursorRows): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#client.query(new PortalFetch(rows, (error, result) => (error ? reject(error) : resolve(result))));
    });
  }

  async #copy(text: string, { bytes }: CopyData): Promise<Result> {
    const stream = this.#client.query(from(text));
    stream.end(bytes);
    await finished(stream);
    return { command: 'COPY', rows: [] };
  }

  /** A name lets PostgreSQL reuse the plan: planning is most of the cost of a join by primary keys. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= this.#maxPrepared) return known;
    const name = `statement-${this.#names.size + 1}`;
    this.#names.set(text, name);
    return name;
  }
}

/** Adapts a pool to Kysely, with one session for each connection, because prepared statements belong to a connection. */
export function openSessions(pool: Pool, maxPrepared: number): PostgresPool {
  const sessions = new WeakMap<PoolClient, Session>();
  return {
    async connect() {
      const client = await pool.connect();
      const known = sessions.get(client) ?? new Session(client, maxPrepared);
      sessions.set(client, known);
      return known;
    },
    end: () => pool.end(),
  };
}
