import { once } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { backOffMs } from './clock.ts';
import type { Logger } from './logger.ts';

export type { Redis } from 'ioredis';

/** The back-off before a connection to Redis is opened again. */
export const redisBackOffMs = (failures: number): number => backOffMs(failures, { minMs: 100, maxMs: 1000 });

/** Options for Redis commands that must not be retried: an unanswered command fails when its connection closes. */
export const neverRepeated: Pick<RedisOptions, 'maxRetriesPerRequest'> = { maxRetriesPerRequest: 0 };

/**
 * Opens a Redis connection that reconnects indefinitely and fails commands at once while Redis is unavailable, instead of
 * queueing them in memory. Commands without an answer are repeated after a reconnect, unless `options` are neverRepeated.
 */
export function connectRedis(url: string, logger: Logger, options: Partial<typeof neverRepeated> = {}): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: null,
    retryStrategy: redisBackOffMs,
    lazyConnect: false,
    // RESP3 begins with HELLO, which proxies and access rules may refuse.
    protocol: 2,
    // Detects a connection that was cut without a FIN or RST.
    socketTimeout: 5000,
    ...options,
  });
  redis.on('error', (error: Error) => logger.debug({ err: error }, 'Redis connection failed'));
  return redis;
}

const redisTimeoutMs = 2000;

/** Waits 2 s for Redis at most: devices need no Redis to connect, and their uploads are held. */
export async function awaitRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) }).catch(() => undefined);
}
