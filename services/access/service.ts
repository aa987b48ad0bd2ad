import { once } from 'node:events';
import { keyListChannel } from '@odograph/contracts/topics';
import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { answersIn } from '@odograph/database/kept-answers';
import { operatorRoutes, tokenRoutes } from '@odograph/http/authentication';
import type { Clock, Http } from '@odograph/http/http';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { openSealer, readEncryptionKeys } from '@odograph/runtime/sealing';
import type { Service } from '@odograph/runtime/service';
import { isPresent } from '@odograph/sessions/presence';
import { deviceCommandRoutes } from './authorizations/device-commands.ts';
import { authorizationRoutes } from './authorizations/routes.ts';
import { bookingRoutes } from './bookings/routes.ts';
import { deviceKeyRoutes } from './device-keys/routes.ts';
import { driverRoutes } from './drivers/routes.ts';
import type { AccessOptions } from './shared/access-options.ts';

/** Announces changed key lists on Redis. A lost announcement costs at most a second, the polling interval. */
function createAnnouncement(redis: Redis, prefix: string, logger: Logger): () => void {
  return () => {
    redis.publish(keyListChannel(prefix), '').catch((err: unknown) => {
      logger.debug({ err }, 'changed key lists not announced');
    });
  };
}

/** A year: limits how long a forgotten authorization opens a vehicle. */
const maxAuthorizationMs = 366 * 86_400_000;

/** Authorizations, device keys, driver lists and bookings: the service that issues access to vehicles. */
export function createAccessService(clock: Clock): Service<Http> {
  return {
    name: 'access',
    async start({ http, config, logger, adminToken, onStop }) {
      const { QUEUE_PREFIX: prefix, ACK_TIMEOUT_MS: ackTimeoutMs } = config;
      const db = openDatabase({ url: config.DATABASE_URL, name: 'access', size: config.DATABASE_POOL_SIZE });
      onStop('access database', () => db.destroy());
      const redis = connectRedis(config.REDIS_URL, logger);
      onStop('access Redis', () => redis.disconnect());
      // Until it is connected, commands fail at once; the client keeps reconnecting.
      await once(redis, 'ready').catch(() => undefined);
      const announceKeyLists = createAnnouncement(redis, prefix, logger);
      const options: AccessOptions = {
        ...{ db, sealer: await openSealer(config, 'device keys'), clock, announceKeyLists },
        maxAuthorizationMs,
      };
      const isConnected = (deviceId: string) => isPresent(redis, prefix, deviceId);
      const accounts = accountsIn(db, config);
      const kept = answersIn(db, await readEncryptionKeys(config));
      const plugins = [
        authorizationRoutes(options),
        deviceCommandRoutes(options),
        bookingRoutes(options),
        driverRoutes({ ...options, ackTimeoutMs, isConnected }),
      ];
      await tokenRoutes(http, accounts, plugins, kept);
      await operatorRoutes(http, { accounts, adminToken, kept }, [deviceKeyRoutes(options)]);
      return {
        async health() {
          await pingDatabase(db);
          return { ok: true, state: 'running' };
        },
      };
    },
  };
}

export const accessService = createAccessService(() => new Date());
