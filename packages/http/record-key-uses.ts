import { ApiKeyUses } from '@odograph/runtime/api-key-uses';
import { connectRedis } from '@odograph/runtime/redis';
import type { Http } from './http.ts';
import type { Host } from './record-writes.ts';

/** Adds a hook that records the use of an API key before the response is sent. Call it before adding routes. */
export function recordKeyUses(http: Http, { config, logger, onStop }: Host): void {
  const redis = connectRedis(config.REDIS_URL, logger);
  onStop('record of API keys', () => redis.disconnect());
  const uses = new ApiKeyUses(redis, config.QUEUE_PREFIX);
  http.addHook('onSend', async ({ apiKey, log }) => {
    if (apiKey === undefined) return;
    await uses.record(apiKey.id).catch((err: unknown) => log.warn({ err }, 'API key use not recorded'));
  });
}
