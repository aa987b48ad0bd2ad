import { once } from 'node:events';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { findCaller } from '@odograph/database/tokens';
import { requireAdmin, requireToken } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import type { Clock } from '@odograph/http/request-context';
import { isPresent } from '@odograph/runtime/presence';
import { connectRedis } from '@odograph/runtime/redis';
import { openSealer } from '@odograph/runtime/sealing';
import type { Service } from '@odograph/runtime/service';
import { addBoxRoutes } from './authorizations/box-routes.ts';
import { addAuthorizationChanges, addAuthorizationRoutes } from './authorizations/routes.ts';
import { addSuspensionRoutes } from './authorizations/suspension-routes.ts';
import { addBookingRoutes } from './bookings/routes.ts';
import { createAnnounce, type Keyless } from './device-keys/keyless.ts';
import { addKeyRoutes } from './device-keys/routes.ts';
import { addDriverLists, addVehicleLists } from './drivers/list-routes.ts';
import { addDriverRoutes } from './drivers/routes.ts';

/** Authorizations, device keys, driver lists and bookings: the only service with the right to device keys. */
export function createAccessService(clock: Clock): Service<Http> {
  return {
    name: 'access',
    async start({ http, config, logger, adminToken, onStop }) {
      const db = openDatabase({ url: config.DATABASE_URL, name: 'access', size: config.DATABASE_POOL_SIZE });
      onStop('access database', () => db.destroy());
      const redis = connectRedis(config.REDIS_URL, logger);
      onStop('access Redis', () => redis.disconnect());
      // Commands fail at once until it is connected; it goes on trying when it is away.
      await once(redis, 'ready').catch(() => undefined);
      const announce = createAnnounce(redis, config.QUEUE_PREFIX, logger);
      const keyless: Keyless = { db, sealer: await openSealer(config), clock, announce };
      await http.register(async (withToken) => {
        withToken.addHook(
          'onRequest',
          requireToken((hash) => findCaller(db, hash)),
        );
        addAuthorizationRoutes(withToken, keyless);
        addAuthorizationChanges(withToken, keyless);
        addSuspensionRoutes(withToken, keyless);
        addBoxRoutes(withToken, keyless);
        addBookingRoutes(withToken, keyless);
        addVehicleLists(withToken, keyless);
        addDriverLists(withToken, keyless);
        addDriverRoutes(withToken, keyless, {
          ackTimeoutMs: config.ACK_TIMEOUT_MS,
          isPresent: (deviceId) => isPresent(redis, config.QUEUE_PREFIX, deviceId),
        });
      });
      await http.register(async (forOperators) => {
        forOperators.addHook('onRequest', requireAdmin(adminToken));
        addKeyRoutes(forOperators, keyless);
      });
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
