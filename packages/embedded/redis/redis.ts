import { type EngineOptions, superviseChild } from '../process/supervise-child.ts';

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
export async function startEmbeddedRedis(options: EngineOptions): Promise<EmbeddedRedis> {
  const { password, port, durable, stop } = await superviseChild(
    new URL('./redis-process.ts', import.meta.url),
    options,
  );
  return { url: `redis://:${password}@127.0.0.1:${port}`, durable, stop };
}
