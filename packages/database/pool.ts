import type { Socket } from 'node:net';
import { Pool, type PoolClient, types } from 'pg';
import { teachCopy } from './copy.ts';
import { prepareStatements } from './prepare-statements.ts';

const int8 = 20;

/** bigint columns hold ids and counts below 2^53, so they are read as numbers. */
export const parsers = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === int8 && format !== 'binary' ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

export interface PoolOptions {
  url: string;
  /** Shown in pg_stat_activity. */
  name: string;
  size: number;
  statementTimeoutMs?: number;
  /**
   * How long a transaction may wait for its next statement. When the machine that began it is gone without a word, the
   * server would keep its locks until TCP gives up, for hours.
   */
  idleInTransactionMs?: number;
  /** A connection on which nothing comes or goes for so long is given up; only for statements that end sooner. */
  silenceMs?: number;
  /** How many statements a connection keeps prepared, for whoever has a fixed set of them; none without it. */
  preparedStatements?: number;
}

/** A pool of PostgreSQL connections; the caller ends it. */
export function createPool(options: PoolOptions): Pool {
  const { url, name, size, statementTimeoutMs, idleInTransactionMs, silenceMs, preparedStatements } = options;
  const pool = new Pool({
    connectionString: url,
    application_name: `odograph-${name}`,
    max: size,
    // To compile a statement costs up to a second, and saves little where nearly all of them are over in milliseconds.
    options: '-c jit=off',
    connectionTimeoutMillis: 10_000,
    types: parsers,
    ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
    ...(idleInTransactionMs === undefined ? {} : { idle_in_transaction_session_timeout: idleInTransactionMs }),
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  // So would one that breaks between two statements of a transaction; the next statement then fails.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (preparedStatements !== undefined) pool.on('connect', (client) => prepareStatements(client, preparedStatements));
  pool.on('connect', teachCopy);
  if (silenceMs !== undefined) pool.on('connect', (client) => endWhenSilent(client, silenceMs));
  return pool;
}

/** A line that is cut without a word would otherwise keep a statement waiting until the system gives up, for hours. */
function endWhenSilent(client: PoolClient, silenceMs: number): void {
  // The types leave out the socket of a connection.
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.setTimeout(silenceMs, () => {
    connection.stream.destroy(new Error(`the database was silent for ${silenceMs} ms`));
  });
}
