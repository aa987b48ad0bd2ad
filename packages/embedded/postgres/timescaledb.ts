import { resolve } from 'node:path';
import { superviseChild } from '../process/supervise-child.ts';

export interface EmbeddedTimescaleOptions {
  /** Where the database persists; made when it is missing. */
  dataDirectory: string;
  /** On 127.0.0.1; 0 or undefined takes a free one. */
  port?: number;
  /** Receives what the database process has to say. */
  onLine?: (line: string) => void;
  /** A transaction that idles for longer while other connections wait is ended with 25P03; 60,000 ms when undefined. */
  idleTransactionTimeoutMs?: number;
}

export interface EmbeddedTimescale {
  url: string;
  /** Checkpoints and ends the process. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL 17 with TimescaleDB (WebAssembly) in a child process, which ends with this one. Committed data outlives a kill -9 of
 * either; a child that ends unasked is started again on the same port. `timescaledb` is created, `btree_gist` can be; there is no pgcrypto.
 *
 * It is one session, which connections take in turns: a transaction keeps the others waiting. Settings (SET) and prepared statements are
 * kept apart for each connection. What SQL keeps in the session is not: temporary tables, session-level advisory locks (every connection gets
 * them), SQL-level PREPARE, cursors WITH HOLD, custom settings outside of a transaction, LISTEN. COPY FROM STDIN must be a simple query
 * of its own, at most 256 MiB. A cancel request does nothing. Nothing runs in the background: no autovacuum, no analyze, no TimescaleDB job.
 * Anybody who reaches the port is the superuser.
 *
 * Throws when another process uses `dataDirectory` or the port.
 */
export async function startEmbeddedTimescale(options: EmbeddedTimescaleOptions): Promise<EmbeddedTimescale> {
  const child = await superviseChild(
    new URL('./timescale-process.ts', import.meta.url),
    {
      dataDirectory: resolve(options.dataDirectory),
      port: options.port ?? 0,
      idleTransactionTimeoutMs: options.idleTransactionTimeoutMs ?? 60_000,
    },
    options.onLine ?? (() => undefined),
  );
  return { url: `postgres://postgres@127.0.0.1:${child.port}/postgres`, stop: () => child.stop() };
}
