import { once } from 'node:events';
import { Cluster, type RedisOptions, Redis as Server } from 'ioredis';
import { backOffMs } from './clock.ts';
import type { Logger } from './logger.ts';
import { parseMultiHostUrl, redisServers } from './redis-url.ts';

export type { Redis as Server } from 'ioredis';

/** A client of one server, of the primary that Sentinels name, or of a cluster. */
export type Redis = Server | Cluster;

/** The back-off before a connection to Redis is opened again. */
export const redisBackOffMs = (failures: number): number => backOffMs(failures, { minMs: 100, maxMs: 1000 });

/** After a fail-over, the demoted primary rejects writes (READONLY); reconnecting finds the new primary. */
const reconnectOnError = (error: Error): boolean => error.message.startsWith('READONLY');

export type RedisClientOptions = Omit<RedisOptions, 'replyMapping'>;

/** Creates a client of the first address of REDIS_URL: of a server, of the primary that Sentinels name, or of a cluster. */
export function createRedisClient(urls: string, options: RedisClientOptions): Redis {
  const [url = urls] = redisServers(urls);
  const several = parseMultiHostUrl(url);
  if (several === undefined) return new Server(url, { ...options, reconnectOnError });
  const { hosts, credentials, tls, name, sentinelPassword, isCluster } = several;
  if (!isCluster) {
    const sentinel = { sentinels: hosts, name, ...(sentinelPassword && { sentinelPassword }) };
    const sentinelTls = 'tls' in tls ? { enableTLSForSentinelMode: true, sentinelTLS: tls.tls } : {};
    return new Server({ ...options, ...credentials, ...tls, ...sentinel, ...sentinelTls, reconnectOnError });
  }
  const { retryStrategy, enableOfflineQueue = true, ...redisOptions } = options;
  return new Cluster(hosts, {
    redisOptions: { ...redisOptions, ...credentials, ...tls },
    enableOfflineQueue,
    ...(retryStrategy && { clusterRetryStrategy: (attempt: number) => retryStrategy(attempt) ?? null }),
    slotsRefreshTimeout: 2000,
    // Otherwise the client retries unanswered commands at the new primary.
    ...(redisOptions.maxRetriesPerRequest === 0 && { retryDelayOnFailover: 0 }),
    // Certificates name hosts: keep host names unresolved.
    ...('tls' in tls && {
      dnsLookup: (address: string, found: (error: null, address: string) => void) => found(null, address),
    }),
  });
}

/** Options for Redis commands that must not be retried: an unanswered command fails when its connection closes. */
export const neverRepeated: Pick<RedisOptions, 'maxRetriesPerRequest'> = { maxRetriesPerRequest: 0 };

/**
 * Opens a connection to the first server of REDIS_URL. It reconnects indefinitely and fails commands at once while Redis is
 * unavailable, instead of queueing them in memory. Commands without an answer are repeated after a reconnect, unless
 * `options` are neverRepeated.
 */
export function connectRedis(urls: string, logger: Logger, options: Partial<typeof neverRepeated> = {}): Redis {
  const redis = createRedisClient(urls, {
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

/** Tells whether a client is that of a cluster. */
export const isCluster = (redis: Redis): redis is Cluster => redis instanceof Cluster;

/**
 * Returns the connection on which the client of a cluster receives messages; undefined without one, and for other clients.
 * The client replaces it when it ends, and has no event for that.
 */
export function subscriptionOf(redis: Redis): Server | undefined {
  if (!isCluster(redis)) return undefined;
  const subscriber = Reflect.get(redis, 'subscriber') as { getInstance(): Server | null };
  return subscriber.getInstance() ?? undefined;
}

/** Lists the servers that a client writes to: the primaries of a cluster, or the one server. */
export const primariesOf = (redis: Redis): Server[] => (isCluster(redis) ? redis.nodes('master') : [redis]);

/**
 * Asks each primary of a client. Those of a cluster that do not answer are left out: they stop the shards on them only.
 * @throws when none answers
 */
export async function askPrimaries<Answer>(redis: Redis, ask: (server: Server) => Promise<Answer>): Promise<Answer[]> {
  const results = await Promise.allSettled(primariesOf(redis).map(ask));
  const answers = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (answers.length > 0) return answers;
  throw results.find((result) => result.status === 'rejected')?.reason ?? new Error('no primary is known');
}

const redisTimeoutMs = 2000;

/** Waits 2 s for Redis at most: devices need no Redis to connect, and their uploads are held. */
export async function awaitRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) }).catch(() => undefined);
}
