import { once } from 'node:events';
import { deviceRevokedChannel } from '@odograph/contracts/presence';
import { accountsIn } from '@odograph/database/accounts';
import { Addresses } from '@odograph/database/addresses';
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
import { BackgroundFailures } from '@odograph/runtime/background-failures';
import { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Logger } from '@odograph/runtime/logger';
import { Counter, type Registry } from '@odograph/runtime/metrics';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { openSealer, readEncryptionKeys } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { accountRoutes } from './accounts/routes.ts';
import { resealFactors } from './accounts/second-factors.ts';
import { alarms } from './alarms/routes.ts';
import { audit } from './audit.ts';
import type { Fleet, FleetRoutes } from './common/fleet.ts';
import { LoginLimit } from './common/login-limit.ts';
import { deviceRoutes } from './devices/routes.ts';
import { gbfs } from './gbfs.ts';
import { groups } from './groups/routes.ts';
import { parking } from './parking.ts';
import { MapFile } from './places/map-file.ts';
import { startNaming } from './places/naming.ts';
import { places } from './places/routes.ts';
import { routing } from './routing/routes.ts';
import { shares } from './shares/routes.ts';
import { sources } from './sources.ts';
import { vehicleRoutes } from './vehicles/routes.ts';

const resources: readonly FleetRoutes[] = [
  ...[...accountRoutes, ...vehicleRoutes, ...deviceRoutes],
  ...[groups, parking, places, routing, alarms, shares, sources, gbfs, audit],
];

/** Wrong passwords of browsers are limited for an address in all, to those of so many accounts. */
const accountsPerAddress = 3;

/** Three of a million codes are valid at any time: a day of guessing succeeds with a probability of 0.1 %. */
const maxWrongCodesPerHour = 10;
const hourMs = 3_600_000;

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
    const { config, limits, http, logger, adminToken } = host;
    const db = openDatabase({ url: config.DATABASE_URL, name: 'fleet', size: config.DATABASE_POOL_SIZE });
    host.onStop('fleet database', () => db.destroy());
    const redis = await openRedis(host);
    const rechecks = new SessionRechecks({ ...host, redis, channel: deviceRevokedChannel(config.QUEUE_PREFIX) });
    host.onStop('session rechecks', () => rechecks.stop());
    const map = new MapFile(config);
    host.onStop('map file', () => map.close());
    host.onStop('naming of places', await startNaming({ ...host, db, redis, map }));
    const routerFailures = new Counter({
      name: 'odograph_fleet_router_failures_total',
      help: 'Failed estimates of arrival times of shares',
      labelNames: ['task'],
      registers: [host.metrics],
    });
    const { QUEUE_PREFIX: prefix } = config;
    const fleet: Fleet = {
      ...{ db, redis, config, logger, map },
      failures: new BackgroundFailures({ arrival: 'arrival times of shares are missing' }, logger, routerFailures),
      changes: new ChangeAnnouncer(redis, host),
      addresses: new Addresses(redis, config),
      sealer: await openSealer(config, 'source tokens'),
      factorSealer: await openSealer(config, 'second factors'),
      factorLimit: new LoginLimit(redis, prefix, maxWrongCodesPerHour, hourMs),
      loginLimit: new LoginLimit(redis, prefix, limits.maxLoginFailuresPerMinute),
      addressLimit: new LoginLimit(redis, prefix, limits.maxLoginFailuresPerMinute * accountsPerAddress),
      recheckSession: (deviceId) => rechecks.request(deviceId),
    };

    const pluginsOf = (scope: keyof FleetRoutes): RoutePlugin[] =>
      resources.flatMap((resource) => resource[scope] ?? []).map((plugin) => (inner) => plugin(inner, fleet));
    const accounts = accountsIn(db, config);
    const kept = answersIn(db, await readEncryptionKeys(config));
    for (const plugin of pluginsOf('open')) await plugin(http);
    await sessionRoutes(http, accounts, pluginsOf('session'));
    await tokenRoutes(http, accounts, pluginsOf('token'), kept);
    await viewerRoutes(http, { accounts, adminToken }, pluginsOf('viewer'));
    await operatorRoutes(http, { accounts, adminToken, kept }, pluginsOf('operator'));

    return {
      ready: () => resealFactors(db, fleet.factorSealer),
      async health() {
        await pingDatabase(db);
        if (rechecks.pending === 0) return { ok: true, state: 'running' };
        return { ok: false, state: `brokers do not know of revoked credentials of ${rechecks.pending} devices` };
      },
    };
  },
};

const retryMs = 1000;

interface SessionRecheckOptions {
  readonly redis: Redis;
  /** deviceRevokedChannel of contracts/presence.ts */
  readonly channel: string;
  readonly logger: Logger;
  readonly metrics: Registry;
}

/**
 * Notifies brokers of devices whose credentials changed, so that they close revoked sessions. A notice that fails in
 * Redis is retried until it succeeds; brokers that lose Redis, too, check every session once it is back.
 */
class SessionRechecks {
  readonly #options: SessionRecheckOptions;
  readonly #failures: Counter;
  readonly #pending = new Set<string>();
  #retry: NodeJS.Timeout | undefined;

  constructor(options: SessionRecheckOptions) {
    this.#options = options;
    this.#failures = new Counter({
      name: 'odograph_fleet_revocation_failures_total',
      help: 'Failed attempts to notify brokers of changed credentials of a device',
      registers: [options.metrics],
    });
  }

  /** Devices whose change of credentials the brokers do not know yet. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Resolves after the first attempt: the new credentials are committed, and must reach the operator. */
  async request(deviceId: string): Promise<void> {
    this.#pending.add(deviceId);
    await this.#notify();
  }

  stop(): void {
    clearTimeout(this.#retry);
    this.#pending.clear();
  }

  async #notify(): Promise<void> {
    clearTimeout(this.#retry);
    const { redis, channel, logger } = this.#options;
    for (const deviceId of this.#pending) {
      try {
        await redis.publish(channel, deviceId);
        this.#pending.delete(deviceId);
      } catch (err) {
        this.#failures.inc();
        logger.error({ err, deviceId }, 'brokers not notified of new device credentials; retrying');
        break;
      }
    }
    clearTimeout(this.#retry);
    if (this.#pending.size > 0) this.#retry = setTimeout(() => void this.#notify(), retryMs);
  }
}
