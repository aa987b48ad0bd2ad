import { Redis } from 'ioredis';
import type { Logger } from './logger.ts';

export type { Redis } from 'ioredis';

/**
 * A Redis connection that reconnects for ever and fails a command at once while it is away,
 * so that nobody waits on a queue in memory.
 */
export function connectRedis(url: string, logger: Logger): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => Math.min(attempt * 50, 1000),
    lazyConnect: false,
    // A connection that was cut without a word is given up.
    socketTimeout: 5000,
  });
  redis.on('error', (error: Error) => logger.debug({ err: error }, 'Redis connection'));
  return redis;
}
