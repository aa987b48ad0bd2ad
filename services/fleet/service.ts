import { once } from 'node:events';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { findCaller } from '@odograph/database/tokens';
import { requireAdmin, requireToken } from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { limitAttempts } from './accounts/login-limit.ts';
import { addPasswordRoutes } from './accounts/password-routes.ts';
import { addLoginRoute, addRefreshRoute } from './accounts/routes.ts';
import { addApplicationRoutes } from './admin/applications/routes.ts';
import { addApplicationSettingsRoutes } from './admin/applications/settings-routes.ts';
import { addAuditRoutes } from './admin/audit/routes.ts';
import { addCredentialRoutes } from './admin/devices/credential-routes.ts';
import { addLinkRoutes } from './admin/devices/link-routes.ts';
import { addDeviceCreation, addDeviceList } from './admin/devices/routes.ts';
import { addVehicleRequestRoutes } from './admin/requests/routes.ts';
import { addGrantRoutes, addUserRoutes } from './admin/users/routes.ts';
import { addVehicleRoutes, addVehicleSettingsRoutes } from './admin/vehicles/routes.ts';
import { addDeviceRoutes } from './devices/routes.ts';
import { addParkingRoutes } from './parking/routes.ts';
import { addPrivacyRoutes } from './privacy/routes.ts';
import { addStateRoutes } from './states/routes.ts';
import { addFleetVehicleRoutes } from './vehicles/routes.ts';

function openFleetDatabase(host: ServiceHost<Http>) {
  const db = openDatabase({ url: host.config.DATABASE_URL, name: 'fleet', size: host.config.DATABASE_POOL_SIZE });
  host.onStop('fleet database', () => db.destroy());
  return db;
}

async function openRedis(host: ServiceHost<Http>): Promise<Redis> {
  const redis = connectRedis(host.config.REDIS_URL, host.logger);
  host.onStop('fleet Redis', () => redis.disconnect());
  // Commands fail at once until it is connected; it goes on trying when it is away.
  await once(redis, 'ready').catch(() => undefined);
  return redis;
}

/** Accounts, vehicles, devices and their links: short transactions, and the only service that makes secrets. */
export const fleetService: Service<Http> = {
  name: 'fleet',
  async start(host) {
    const { config, http, adminToken } = host;
    const db = openFleetDatabase(host);
    const redis = await openRedis(host);
    const countAttempt = limitAttempts(redis, config.QUEUE_PREFIX, config.LOGIN_ATTEMPTS_PER_MINUTE);
    const lifetimes = { accessSeconds: config.ACCESS_TOKEN_SECONDS, refreshSeconds: config.REFRESH_TOKEN_SECONDS };
    const recheckSession = async (deviceId: string) => {
      // The new secret holds all the same, and without its answer nobody would know it.
      await redis.publish(deviceRevokedChannel(config.QUEUE_PREFIX), deviceId).catch((err: unknown) => {
        host.logger.warn({ err, deviceId }, 'the brokers could not be told of new credentials');
      });
    };

    addLoginRoute(http, db, lifetimes, countAttempt);
    addRefreshRoute(http, db, lifetimes);
    await http.register(async (withToken) => {
      withToken.addHook(
        'onRequest',
        requireToken((hash) => findCaller(db, hash)),
      );
      addPasswordRoutes(withToken, db, countAttempt);
      addFleetVehicleRoutes(withToken, db);
      addStateRoutes(withToken, db);
      addPrivacyRoutes(withToken, db);
      addDeviceRoutes(withToken, db);
      addParkingRoutes(withToken, db);
    });
    await http.register(async (forOperators) => {
      forOperators.addHook('onRequest', requireAdmin(adminToken));
      addApplicationRoutes(forOperators, db);
      addApplicationSettingsRoutes(forOperators, db);
      addUserRoutes(forOperators, db);
      addGrantRoutes(forOperators, db);
      addVehicleRoutes(forOperators, db);
      addVehicleSettingsRoutes(forOperators, db);
      addDeviceCreation(forOperators, db);
      addDeviceList(forOperators, db);
      addCredentialRoutes(forOperators, db, recheckSession);
      addLinkRoutes(forOperators, db);
      addVehicleRequestRoutes(forOperators, db);
      addAuditRoutes(forOperators, db);
    });

    return {
      async health() {
        await pingDatabase(db);
        return { ok: true, state: 'running' };
      },
    };
  },
};
