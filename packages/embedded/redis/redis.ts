import { resolve } from 'node:path';
import { lockDirectory } from '../process/directory-lock.ts';
import { ensurePassword } from '../process/password.ts';
import { type EngineOptions, supervise, superviseChild } from '../process/supervise.ts';
import { RedisMissingError, startRedisServer } from './redis-server.ts';

export interface EmbeddedRedis {
  url: string;
  /** False for the in-memory server, which loses its data when it ends. */
  durable: boolean;
  stop(): Promise<void>;
}

/**
 * Starts `redis-server` from the PATH, which syncs every write to disk before it answers (append-only file, fsync always, no
 * eviction), or without one an in-memory server in a Node.js process. Either ends with this process, and is restarted on the
 * same port when it ends unexpectedly.
 * @throws Error when another process uses `dataDirectory` or the port
 */
export async function startEmbeddedRedis(options: EngineOptions): Promise<EmbeddedRedis> {
  try {
    return await startDurable(options);
  } catch (error) {
    if (!(error instanceof RedisMissingError)) throw error;
    const { password, port, stop } = await superviseChild(new URL('./memory-process.ts', import.meta.url), options);
    return { url: redisUrl(password, port), durable: false, stop };
  }
}

const redisUrl = (password: string, port: number): string => `redis://:${password}@127.0.0.1:${port}`;

async function startDurable(options: EngineOptions): Promise<EmbeddedRedis> {
  const dataDirectory = resolve(options.dataDirectory);
  const unlock = await lockDirectory(dataDirectory, process.pid);
  try {
    const start = (on: number) => startRedisServer(dataDirectory, on, options.onLine);
    const { port, durable, stop } = await supervise(start, options);
    const stopAndUnlock = () => stop().finally(unlock);
    return { url: redisUrl(ensurePassword(dataDirectory), port), durable, stop: stopAndUnlock };
  } catch (error) {
    unlock();
    throw error;
  }
}
