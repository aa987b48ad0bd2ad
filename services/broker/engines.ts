import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { QueueName } from '@odograph/contracts/queues';
import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import {
  type DurableAdd,
  openQueue,
  openVolatileQueue,
  type QueueConnection,
  type TypedQueue,
} from '@odograph/queue/queues';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { BackgroundFailures, createBrokerMetrics } from './metrics.ts';
import { watchBacklog } from './publish/backlog.ts';

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
  const [uploads, addUploads] = openDurably('uploads', connection, config.REDIS_IS_DURABLE, onStop);
  const [, addAcknowledgement] = openDurably('acknowledgements', connection, config.REDIS_IS_DURABLE, onStop);
  const lateUploads = openQueue('late-uploads', connection);
  onStop('broker queue late-uploads', () => lateUploads.close());
  const metrics = createBrokerMetrics(registry);
  const failures = new BackgroundFailures(logger, metrics.backgroundFailures);
  await awaitRedis(redis);
  const backlog = await watchBacklog({ uploads, lateUploads, redis, config, metrics, failures });
  onStop('broker backlog', () => backlog.stop());
  return { brokerId: randomUUID(), db, redis, subscriber, addUploads, addAcknowledgement, backlog, metrics, failures };
}

/** Opens a queue with the function whose success is what a PUBACK promises. */
function openDurably<Name extends QueueName>(
  name: Name,
  connection: QueueConnection,
  redisIsDurable: boolean,
  onStop: ServiceHost<Http>['onStop'],
): [TypedQueue<Name>, DurableAdd<Name>] {
  const queue = openQueue(name, connection);
  onStop(`broker queue ${name}`, () => queue.close());
  if (redisIsDurable) return [queue, async (data, options) => void (await queue.add(name, data, options))];
  const volatileQueue = openVolatileQueue(queue, connection);
  onStop(`broker queue events ${name}`, () => volatileQueue.close());
  return [queue, volatileQueue.add];
}

const redisTimeoutMs = 2000;

/** Waits for Redis a moment only: devices need no Redis to connect, and their uploads are held. */
async function awaitRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) }).catch(() => undefined);
}

export type BrokerEngines = Awaited<ReturnType<typeof openEngines>>;
