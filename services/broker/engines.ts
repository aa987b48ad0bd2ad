import { once } from 'node:events';
import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { openQueue } from '@odograph/queue/queues';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { createBrokerMetrics } from './metrics.ts';
import { watchBacklog } from './publish/backlog.ts';

/** Opens what the broker stands on; all of it may be away, now or later. */
export async function openEngines({ config, logger, metrics, onStop }: ServiceHost<Http>) {
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
  const brokerMetrics = createBrokerMetrics(metrics);
  await readyOrLater(redis);
  const backlog = await watchBacklog(uploads, redis, config, brokerMetrics);
  onStop('broker backlog', () => backlog.stop());
  return { db, redis, subscriber, uploads, acknowledgements, backlog, metrics: brokerMetrics };
}

const patienceMs = 2000;

/** Devices are not kept waiting for a Redis that is away: what they upload is held. */
async function readyOrLater(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await once(redis, 'ready', { signal: AbortSignal.timeout(patienceMs) }).catch(() => undefined);
}

export type BrokerEngines = Awaited<ReturnType<typeof openEngines>>;
