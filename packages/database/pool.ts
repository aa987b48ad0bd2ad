import type { Socket } from 'node:net';
import { Pool, type PoolClient, types } from 'pg';

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
  /** Bounds how long a vanished client can hold its locks: without it, until the TCP timeout of the server, hours later. */
  idleInTransactionMs?: number;
  /**
   * Idle time after which a connection is destroyed, even during a statement; must exceed the longest statement. Default:
   * twice `statementTimeoutMs`.
   */
  silenceMs?: number;
}

/**
 * Tells whether a database URL names a PgBouncer (`?pgbouncer=true`). In transaction mode, the statements of a connection
 * run in different sessions, so that session settings and prepared statements are unavailable.
 */
export const isPooled = (url: string): boolean => new URL(url).searchParams.get('pgbouncer') === 'true';

/** Settings of every session of a pool. */
function sessionSettings({ statementTimeoutMs, idleInTransactionMs }: PoolOptions) {
  return {
    // JIT compilation takes up to a second, and nearly all statements take milliseconds.
    options: '-c jit=off',
    ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
    ...(idleInTransactionMs === undefined ? {} : { idle_in_transaction_session_timeout: idleInTransactionMs }),
  };
}

/** Creates a pool of PostgreSQL connections; the caller ends it. */
export function createPool(options: PoolOptions): Pool {
  const { url, name, size, statementTimeoutMs, silenceMs = statementTimeoutMs && 2 * statementTimeoutMs } = options;
  const pool = new Pool({
    connectionString: url,
    application_name: `odograph-${name}`,
    max: size,
    connectionTimeoutMillis: 10_000,
    types: parsers,
    ...(isPooled(url) ? {} : sessionSettings(options)),
  });
  // The pool replaces a broken idle connection; an 'error' event without a listener would end the process.
  pool.on('error', () => undefined);
  // The same within a transaction, between two statements; the next statement fails.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (silenceMs !== undefined) pool.on('connect', (client) => destroyWhenSilent(client, silenceMs));
  return pool;
}

/** Destroys a connection that was cut without a FIN or RST; TCP alone would let a statement wait for hours. */
function destroyWhenSilent(client: PoolClient, silenceMs: number): void {
  // The type declarations omit the socket of a connection.
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.setTimeout(silenceMs, () => {
    connection.stream.destroy(new Error(`the database connection was silent for ${silenceMs} ms`));
  });
}
