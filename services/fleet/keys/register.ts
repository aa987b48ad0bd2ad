import { findCaller } from '@odograph/database/tokens';
import { requireAdmin, requireToken } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { isPresent } from '@odograph/runtime/presence';
import type { Redis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
import { addBoxRoutes } from '../bluetooth/box-routes.ts';
import { addAuthorizationChanges, addAuthorizationRoutes } from '../bluetooth/routes.ts';
import { addSuspensionRoutes } from '../bluetooth/suspension-routes.ts';
import { addBookingRoutes } from '../bookings/routes.ts';
import { addDriverLists, addVehicleLists } from '../drivers/list-routes.ts';
import { addDriverRoutes } from '../drivers/routes.ts';
import type { Keyless } from './keyless.ts';
import { addKeyRoutes } from './routes.ts';

/** Authorizations, their lists, drivers, bookings and the keys of devices. */
export async function registerKeyless(host: ServiceHost<Http>, keyless: Keyless, redis: Redis): Promise<void> {
  const { config, http, adminToken } = host;
  await http.register(async (withToken) => {
    withToken.addHook(
      'onRequest',
      requireToken((hash) => findCaller(keyless.db, hash)),
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
}
