import { resolve } from 'node:path';
import { readPassword } from '../process/password.ts';
import { superviseChild } from '../process/supervise-child.ts';

export interface EmbeddedRedisOptions {
  /** Holds the append-only file; created when it is missing. */
  dataDirectory: string;
  /** Port of 127.0.0.1; 0 or undefined for any free port. */
  port?: number;
  /** Called with each line that the Redis process prints. */
  onLine?: (line: string) => void;
}

export interface EmbeddedRedis {
  url: string;
  /** False for the in-memory server, which loses its data when it ends. */
  durable: boolean;
  stop(): Promise<void>;
}

/**
 * Starts `redis-server` from the PATH, which syncs every write to disk before it answers (append-only file, fsync always, no
 * eviction), or an in-memory server in JavaScript without one. Either runs in a child process, ends with this one, and is
 * restarted on the same port when it ends unexpectedly.
 * @throws Error when another process uses `dataDirectory` or the port
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const child = await superviseChild(
    new URL('./redis-process.ts', import.meta.url),
    { dataDirectory: resolve(options.dataDirectory), port: options.port ?? 0, idleTransactionTimeoutMs: 0 },
    options.onLine ?? (() => undefined),
  );
  const password = readPassword(resolve(options.dataDirectory));
  return { url: `redis://:${password}@127.0.0.1:${child.port}`, durable: child.durable, stop: () => child.stop() };
}
