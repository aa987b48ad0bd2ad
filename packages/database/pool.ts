import type { Socket } from 'node:net';
import { currentTracer } from '@odograph/runtime/tracing';
import { Pool, type PoolClient, type QueryConfig, types } from 'pg';
import { supportCopy } from './copy.ts';

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
  /** Idle time after which a connection is destroyed, even during a statement; must exceed the longest statement. */
  silenceMs?: number;
  /** Maximum of prepared statements per connection, for a fixed set of statements; none by default. */
  preparedStatements?: number;
}

/** Creates a pool of PostgreSQL connections; the caller ends it. */
export function createPool(options: PoolOptions): Pool {
  const { url, name, size, statementTimeoutMs, idleInTransactionMs, silenceMs, preparedStatements } = options;
  const pool = new Pool({
    connectionString: url,
    application_name: `odograph-${name}`,
    max: size,
    // JIT compilation takes up to a second, and nearly all statements take milliseconds.
    options: '-c jit=off',
    connectionTimeoutMillis: 10_000,
    types: parsers,
    ...(statementTimeoutMs === undefined ? {} : { statement_timeout: statementTimeoutMs }),
    ...(idleInTransactionMs === undefined ? {} : { idle_in_transaction_session_timeout: idleInTransactionMs }),
  });
  // The pool replaces a broken idle connection; an 'error' event without a listener would end the process.
  pool.on('error', () => undefined);
  // The same within a transaction, between two statements; the next statement fails.
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (preparedStatements !== undefined) pool.on('connect', (client) => prepareStatements(client, preparedStatements));
  pool.on('connect', supportCopy);
  if (currentTracer() !== undefined) pool.on('connect', traceStatements);
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

type Query = (config: string | QueryConfig, values?: unknown[], callback?: unknown) => unknown;

/**
 * Makes a connection prepare each statement with parameters under a name, so that PostgreSQL can reuse its plan: planning
 * is most of the cost of a join by primary keys.
 * @param maximum number of prepared statements; further statements are planned each time
 */
function prepareStatements(client: PoolClient, maximum: number): void {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size === maximum) return known;
    const name = `statement-${names.size + 1}`;
    names.set(text, name);
    return name;
  };
  const query = client.query.bind(client) as Query;
  const prepared: Query = (config, values, callback) => {
    const name = typeof config === 'string' && Array.isArray(values) && values.length > 0 ? nameOf(config) : undefined;
    return name === undefined
      ? query(config, values, callback)
      : query({ name, text: config as string }, values, callback);
  };
  client.query = prepared as typeof client.query;
}

/** Returns the command and the first table of a statement, such as `select reading`; no text that could hold a value. */
export function summarizeStatement(text: string): string {
  const command = /^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? 'statement';
  const table = /\b(?:from|into|update|copy)\s+(?:only\s+)?"?([a-z_][a-z_0-9.]*)/i.exec(text)?.[1];
  return table === undefined ? command : `${command} ${table}`;
}

/** Makes a span of each statement of traced work. */
function traceStatements(client: PoolClient): void {
  const query = client.query.bind(client) as Query;
  const traced: Query = (config, values, callback) => {
    const tracer = currentTracer();
    const text = typeof config === 'string' ? config : config.text;
    if (tracer?.traceparent === undefined || typeof text !== 'string') return query(config, values, callback);
    const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': summarizeStatement(text) };
    const span = tracer.startSpan({ name: attributes['db.query.summary'], kind: 'client', attributes });
    const result = query(config, values, callback);
    if (result instanceof Promise) {
      result.then(
        () => span.end(),
        (error: unknown) => span.fail(error),
      );
    } else span.end();
    return result;
  };
  client.query = traced as typeof client.query;
}
