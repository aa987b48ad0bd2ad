import { once } from 'node:events';
import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { openQueue } from '@odograph/queue/queues';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { BackgroundFailures } from './failures.ts';
import { createBrokerMetrics } from './metrics.ts';
import { watchBacklog } from './publish/backlog.ts';

/** Opens the connections of the broker to PostgreSQL and Redis. Either may be away, now or later. */
export async function openEngines({ config, logger, metrics: registry, onStop }: ServiceHost<Http>) {
  const { DATABASE_URL, REDIS_URL, QUEUE_PREFIX } = config;
  const db = openDatabase({ url: DATABASE_URL, name: 'broker', size: 2, statementTimeoutMs: 5000 });
  onStop('broker database', () => db.destroy());
  const redis = connectRedis(REDIS_URL, logger);
  const subscriber = connectRedis(REDIS_URL, logger);
  onStop('broker redis', () => {
    redis.disconnect();
    subscriber.disconnect();
  });
  const connection = { redisUrl: REDIS_URL, prefix: QUEUE_PREFIX };
  const uploads = openQueue('uploads', connection);
  const acknowledgements = openQueue('acknowledgements', connection);
  onStop('broker queues', () => Promise.all([uploads.close(), acknowledgements.close()]));
  const metrics = createBrokerMetrics(registry);
  const failures = new BackgroundFailures(logger, metrics.backgroundFailures);
  await awaitRedis(redis);
  const backlog = await watchBacklog({ uploads, redis, config, metrics, failures });
  onStop('broker backlog', () => backlog.stop());
  return { db, redis, subscriber, uploads, acknowledgements, backlog, metrics, failures };
}

const redisTimeoutMs = 2000;

/** Waits for Redis a moment only: devices need no Redis to connect, and their uploads are held. */
async function awaitRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) }).catch(() => undefined);
}

export type BrokerEngines = Awaited<ReturnType<typeof openEngines>>;
