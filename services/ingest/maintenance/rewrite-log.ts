import { once } from 'node:events';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';

/**
 * Has Redis write its append-only file anew, so that uploads which are long stored leave the disk: by itself Redis does
 * so only when the file has doubled. Does nothing where there is no such file or it is being written anew.
 * @returns whether it was asked to
 */
export async function rewriteRedisLog(redisUrl: string, logger: Logger): Promise<boolean> {
  const redis = connectRedis(redisUrl, logger);
  try {
    await once(redis, 'ready');
    const state = await redis.info('persistence');
    if (!/^aof_enabled:1\r?$/m.test(state) || /^aof_rewrite_(in_progress|scheduled):1\r?$/m.test(state)) return false;
    await redis.bgrewriteaof();
    return true;
  } catch (err) {
    logger.warn({ err }, 'Redis was not brought to write its append-only file anew; see docs/security.md');
    return false;
  } finally {
    redis.disconnect();
  }
}
