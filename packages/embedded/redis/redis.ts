import { resolve } from 'node:path';
import { superviseChild } from '../process/supervise-child.ts';

export interface EmbeddedRedisOptions {
  /** Where the append-only file persists; made when it is missing. */
  dataDirectory: string;
  /** On 127.0.0.1; 0 or undefined takes a free one. */
  port?: number;
  /** Receives what the Redis process has to say. */
  onLine?: (line: string) => void;
}

export interface EmbeddedRedis {
  url: string;
  /** False for the in-memory server, which forgets everything when it ends. */
  durable: boolean;
  stop(): Promise<void>;
}

/**
 * Starts `redis-server` from the PATH with every write on disk before it is answered (append-only file, fsync always, no eviction), or,
 * where there is none, an in-memory server written in JavaScript. Both run outside of this process and end with it; one that ends unasked
 * is started again on the same port. Throws when another process uses `dataDirectory` or the port.
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const child = await superviseChild(
    new URL('./redis-process.ts', import.meta.url),
    { dataDirectory: resolve(options.dataDirectory), port: options.port ?? 0, idleTransactionTimeoutMs: 0 },
    options.onLine ?? (() => undefined),
  );
  return { url: `redis://127.0.0.1:${child.port}`, durable: child.durable, stop: () => child.stop() };
}
