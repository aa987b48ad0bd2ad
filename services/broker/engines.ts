import { randomUUID } from 'node:crypto';
import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { watchBacklog } from '@odograph/queue/backlog';
import { openDurableQueue } from '@odograph/queue/queues';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { awaitRedis, connectRedis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { brokerTasks, createBrokerMetrics } from './metrics.ts';

/** Opens the connections of the broker to PostgreSQL and Redis. Either may be unavailable, also at the start. */
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
  const uploads = openDurableQueue('uploads', connection, config.REDIS_IS_DURABLE);
  onStop('broker queue uploads', uploads.close);
  const acknowledgements = openDurableQueue('acknowledgements', connection, config.REDIS_IS_DURABLE);
  onStop('broker queue acknowledgements', acknowledgements.close);
  const lateUploads = openDurableQueue('late-uploads', connection, config.REDIS_IS_DURABLE);
  onStop('broker queue late-uploads', lateUploads.close);
  const metrics = createBrokerMetrics(registry);
  const failures = new BackgroundFailures(brokerTasks, logger, metrics.backgroundFailures);
  await awaitRedis(redis);
  const queues = { uploads: uploads.queue, lateUploads: lateUploads.queue };
  const backlog = await watchBacklog({ ...queues, redis, config, metrics, failures });
  onStop('broker backlog', () => backlog.stop());
  const addUploads = { uploads: uploads.add, 'late-uploads': lateUploads.add };
  const add = { addUploads, addAcknowledgement: acknowledgements.add };
  return { brokerId: randomUUID(), db, redis, subscriber, ...add, backlog, metrics, failures };
}

export type BrokerEngines = Awaited<ReturnType<typeof openEngines>>;
