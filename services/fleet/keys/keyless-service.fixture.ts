import { openDatabase } from '@odograph/database/database';
import type { Http } from '@odograph/http/http';
import { connectRedis } from '@odograph/runtime/redis';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service } from '@odograph/runtime/service';
import type { Clock } from '../asked.ts';
import { createAnnounce } from './keyless.ts';
import { registerKeyless } from './register.ts';

/** Keyless access alone, by a clock that a test sets. */
export function createKeylessService(clock: Clock): Service<Http> {
  return {
    name: 'keyless',
    async start(host) {
      const { config, logger } = host;
      const db = openDatabase({ url: config.DATABASE_URL, name: 'keyless', size: 2 });
      host.onStop('keyless database', () => db.destroy());
      const redis = connectRedis(config.REDIS_URL, logger);
      host.onStop('keyless Redis', () => redis.disconnect());
      const announce = createAnnounce(redis, config.QUEUE_PREFIX, logger);
      await registerKeyless(host, { db, sealer: await openSealer(config), clock, announce }, redis);
      return { health: () => ({ ok: true, state: 'running' }) };
    },
  };
}
