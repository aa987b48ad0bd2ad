import { type EngineOptions, superviseChild } from '../process/supervise.ts';

export interface EmbeddedTimescaleOptions extends EngineOptions {
  /** How long a transaction may idle while other connections wait before it ends with 25P03; 60,000 ms when undefined. */
  idleTransactionTimeoutMs?: number;
}

export interface EmbeddedTimescale {
  url: string;
  /** Checkpoints and ends the process. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL 17 with TimescaleDB (WebAssembly) in a child process, which ends with this one. Committed data survives kill -9 of
 * either; a child that ends unexpectedly is restarted on the same port. `timescaledb` is created, `btree_gist` can be; there is no pgcrypto.
 *
 * All connections share one session and take turns: an open transaction blocks the others. Settings (SET) and prepared statements are
 * separate for each connection. Other session state is shared: temporary tables, session-level advisory locks (every connection holds
 * them), SQL-level PREPARE, cursors WITH HOLD, custom settings outside a transaction, LISTEN. COPY FROM STDIN must be a simple query
 * of its own, at most 256 MiB. Cancel requests are ignored. Nothing runs in the background: no autovacuum, analyze or TimescaleDB jobs.
 * Every user is the superuser; the password is in the file `password` of the data directory and in the URL.
 *
 * @throws Error when another process uses `dataDirectory` or the port
 */
export async function startEmbeddedTimescale(options: EmbeddedTimescaleOptions): Promise<EmbeddedTimescale> {
  const { password, port, stop } = await superviseChild(
    new URL('./timescale-process.ts', import.meta.url),
    options,
    options.idleTransactionTimeoutMs ?? 60_000,
  );
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, stop };
}
