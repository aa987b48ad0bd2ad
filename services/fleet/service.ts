import { once } from 'node:events';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { accountsIn } from '@odograph/database/accounts';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { answersIn } from '@odograph/database/kept-answers';
import {
  operatorRoutes,
  type RoutePlugin,
  sessionRoutes,
  tokenRoutes,
  viewerRoutes,
} from '@odograph/http/authentication';
import type { Http } from '@odograph/http/http';
import { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { openSealer, readEncryptionKeys } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { accountRoutes } from './accounts/routes.ts';
import { alarms } from './alarms/routes.ts';
import { audit } from './audit.ts';
import type { Fleet, FleetRoutes } from './common/fleet.ts';
import { LoginLimit } from './common/login-limit.ts';
import { deviceRoutes } from './devices/routes.ts';
import { SessionRechecks } from './devices/session-rechecks.ts';
import { gbfs } from './gbfs.ts';
import { parking } from './parking.ts';
import { sources } from './sources.ts';
import { vehicleRoutes } from './vehicles/routes.ts';

const resources: readonly FleetRoutes[] = [
  ...[...accountRoutes, ...vehicleRoutes, ...deviceRoutes],
  ...[parking, alarms, sources, gbfs, audit],
];

/** Wrong passwords of browsers are limited for an address in all, to those of so many accounts. */
const accountsPerAddress = 3;

async function openRedis(host: ServiceHost<Http>): Promise<Redis> {
  const redis = connectRedis(host.config.REDIS_URL, host.logger);
  host.onStop('fleet Redis', () => redis.disconnect());
  // Until it is connected, commands fail at once; it keeps reconnecting.
  await once(redis, 'ready').catch(() => undefined);
  return redis;
}

/** Accounts, vehicles, devices, parking, alarms, privacy, states and the operator's routes for them. */
export const fleetService: Service<Http> = {
  name: 'fleet',
  async start(host) {
    const { config, limits, http, adminToken } = host;
    const db = openDatabase({ url: config.DATABASE_URL, name: 'fleet', size: config.DATABASE_POOL_SIZE });
    host.onStop('fleet database', () => db.destroy());
    const redis = await openRedis(host);
    const rechecks = new SessionRechecks({ ...host, redis, channel: deviceRevokedChannel(config.QUEUE_PREFIX) });
    host.onStop('session rechecks', () => rechecks.stop());
    const { QUEUE_PREFIX: prefix } = config;
    const fleet: Fleet = {
      ...{ db, redis, config },
      changes: new ChangeAnnouncer(redis, host),
      sealer: await openSealer(config, 'source tokens'),
      loginLimit: new LoginLimit(redis, prefix, limits.maxLoginFailuresPerMinute),
      addressLimit: new LoginLimit(redis, prefix, limits.maxLoginFailuresPerMinute * accountsPerAddress),
      recheckSession: (deviceId) => rechecks.request(deviceId),
    };

    const pluginsOf = (scope: keyof FleetRoutes): RoutePlugin[] =>
      resources.flatMap((resource) => resource[scope] ?? []).map((plugin) => (inner) => plugin(inner, fleet));
    const accounts = accountsIn(db);
    const kept = answersIn(db, await readEncryptionKeys(config));
    for (const plugin of pluginsOf('open')) await plugin(http);
    await sessionRoutes(http, accounts, pluginsOf('session'));
    await tokenRoutes(http, accounts, pluginsOf('token'), kept);
    await viewerRoutes(http, { accounts, adminToken }, pluginsOf('viewer'));
    await operatorRoutes(http, { accounts, adminToken, kept }, pluginsOf('operator'));

    return {
      async health() {
        await pingDatabase(db);
        if (rechecks.pending === 0) return { ok: true, state: 'running' };
        return { ok: false, state: `brokers do not know of revoked credentials of ${rechecks.pending} devices` };
      },
    };
  },
};
