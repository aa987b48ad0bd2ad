import { randomUUID } from 'node:crypto';
import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { watchBacklog } from '@odograph/queue/backlog';
import { openDurableQueue } from '@odograph/queue/queues';
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { awaitRedis, connectRedis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { createGatewayMetrics, gatewayTasks } from './metrics.ts';

/** Opens the connections of the gateway to PostgreSQL and Redis. Either may be unavailable, also at the start. */
export async function openEngines({ config, logger, metrics: registry, onStop }: ServiceHost<Http>) {
  const { DATABASE_URL, REDIS_URL, QUEUE_PREFIX } = config;
  const db = openDatabase({ url: DATABASE_URL, name: 'gateway', size: 2, statementTimeoutMs: 5000 });
  onStop('gateway database', () => db.destroy());
  const redis = connectRedis(REDIS_URL, logger);
  const subscriber = connectRedis(REDIS_URL, logger);
  onStop('gateway redis', () => {
    redis.disconnect();
    subscriber.disconnect();
  });
  const connection = { redisUrl: REDIS_URL, prefix: QUEUE_PREFIX };
  const uploads = openDurableQueue('uploads', connection, config.REDIS_IS_DURABLE);
  onStop('gateway queue uploads', uploads.close);
  const acknowledgements = openDurableQueue('acknowledgements', connection, config.REDIS_IS_DURABLE);
  onStop('gateway queue acknowledgements', acknowledgements.close);
  const lateUploads = openDurableQueue('late-uploads', connection, config.REDIS_IS_DURABLE);
  onStop('gateway queue late-uploads', lateUploads.close);
  const metrics = createGatewayMetrics(registry);
  const failures = new BackgroundFailures(gatewayTasks, logger, metrics.backgroundFailures);
  await awaitRedis(redis);
  const queues = { uploads: uploads.queue, lateUploads: lateUploads.queue };
  const backlog = await watchBacklog({ ...queues, redis, config, metrics, failures });
  onStop('gateway backlog', () => backlog.stop());
  return {
    ...{ gatewayId: randomUUID(), db, redis, subscriber, backlog, metrics, failures },
    addUploads: { uploads: uploads.add, 'late-uploads': lateUploads.add },
    addAcknowledgement: acknowledgements.add,
  };
}

export type GatewayEngines = Awaited<ReturnType<typeof openEngines>>;
