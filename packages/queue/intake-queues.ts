import { awaitRedis, connectRedis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { type BacklogOptions, watchBacklog } from './backlog.ts';
import { openDurableQueue } from './queues.ts';

/**
 * Opens the connections to Redis, and the queues, of a service that accepts uploads and acknowledgements. Redis may be
 * unavailable, also at the start. @param name of the service, for its shutdown hooks
 */
export async function openIntakeQueues(
  { config, logger, onStop }: Pick<ServiceHost, 'config' | 'logger' | 'onStop'>,
  name: string,
  { metrics, failures }: Pick<BacklogOptions, 'metrics' | 'failures'>,
) {
  const { REDIS_URL: redisUrl, QUEUE_PREFIX: prefix, REDIS_IS_DURABLE } = config;
  const redis = connectRedis(redisUrl, logger);
  // Redis permits no other commands on a connection that subscribes.
  const subscriber = connectRedis(redisUrl, logger);
  onStop(`${name} redis`, () => {
    redis.disconnect();
    subscriber.disconnect();
  });
  const connection = { redisUrl, prefix };
  const uploads = openDurableQueue('uploads', connection, REDIS_IS_DURABLE);
  const lateUploads = openDurableQueue('late-uploads', connection, REDIS_IS_DURABLE);
  const acknowledgements = openDurableQueue('acknowledgements', connection, REDIS_IS_DURABLE);
  for (const queue of [uploads, lateUploads, acknowledgements]) onStop(`${name} queue`, queue.close);
  await awaitRedis(redis);
  const queues = { uploads: uploads.queue, lateUploads: lateUploads.queue };
  const backlog = await watchBacklog({ ...queues, redis, config, metrics, failures });
  onStop(`${name} backlog`, () => backlog.stop());
  return {
    ...{ redis, subscriber, backlog },
    addUploads: { uploads: uploads.add, 'late-uploads': lateUploads.add },
    addAcknowledgement: acknowledgements.add,
  };
}
