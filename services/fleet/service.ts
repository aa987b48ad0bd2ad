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
import type { ResolvedConfig } from '@odograph/runtime/config';
import { findPresent, findSessionEnds } from '@odograph/runtime/presence';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { openSealer, readEncryptionKeys, type Sealer } from '@odograph/runtime/sealing';
import type { Service, ServiceHost } from '@odograph/runtime/service';
import { LoginLimit } from './accounts/login-limit.ts';
import { loginRoutes, passwordRoutes } from './accounts/routes.ts';
import { operatorApplicationRoutes } from './admin/applications/routes.ts';
import { operatorAuditRoutes } from './admin/audit/routes.ts';
import { operatorCanDatabaseRoutes } from './admin/can-databases/routes.ts';
import { operatorDeviceImportRoutes } from './admin/device-imports/routes.ts';
import { operatorDeviceModelRoutes } from './admin/device-models/routes.ts';
import type { DeviceAddresses } from './admin/devices/link-routes.ts';
import { operatorDeviceRoutes } from './admin/devices/routes.ts';
import { SessionRechecks } from './admin/devices/session-rechecks.ts';
import { operatorGbfsRoutes } from './admin/gbfs/routes.ts';
import { operatorOperatorRoutes } from './admin/operators/routes.ts';
import { operatorPersonRoutes } from './admin/persons/routes.ts';
import { operatorRequestRoutes } from './admin/requests/routes.ts';
import { operatorSourceRoutes } from './admin/sources/routes.ts';
import { operatorUserRoutes } from './admin/users/routes.ts';
import { operatorVehicleRoutes } from './admin/vehicles/routes.ts';
import { alarmRoutes, alarmViewRoutes } from './alarms/routes.ts';
import { deviceRoutes } from './devices/routes.ts';
import { deviceTableRoutes } from './overview/routes.ts';
import { parkingRoutes } from './parking/routes.ts';
import { privacyRoutes } from './privacy/routes.ts';
import { personRoutes, signInRoutes } from './sessions/routes.ts';
import { stateRoutes } from './states/routes.ts';
import { vehicleRoutes } from './vehicles/routes.ts';

/** Wrong passwords of browsers are limited for an address in all, to those of so many accounts. */
const accountsPerAddress = 3;

function openFleetDatabase(host: ServiceHost<Http>) {
  const db = openDatabase({ url: host.config.DATABASE_URL, name: 'fleet', size: host.config.DATABASE_POOL_SIZE });
  host.onStop('fleet database', () => db.destroy());
  return db;
}

/**
 * The addresses for devices: MQTT_PUBLIC_URL, else the ports at the name by which people reach the platform. Teltonika devices
 * connect to the same host.
 */
function addressesOf(config: ResolvedConfig, hostname: string): DeviceAddresses {
  const { MQTT_PUBLIC_URL: publicUrl, TELTONIKA_PORT: port, TELTONIKA_TLS_PORT: tlsPort } = config;
  const host = publicUrl === undefined ? hostname : new URL(publicUrl).hostname;
  return {
    urls: publicUrl === undefined ? mqttAddresses(config, hostname) : [publicUrl],
    teltonika: [
      ...(tlsPort > 0 ? [`tls://${host}:${tlsPort}`] : []),
      ...(port > 0 ? [`tcp://${host}:${port}`, `udp://${host}:${port}`] : []),
    ],
  };
}

function mqttAddresses(config: ResolvedConfig, hostname: string): string[] {
  const plain = `mqtt://${hostname}:${config.MQTT_PORT}`;
  return config.MQTT_TLS_CERTIFICATE === undefined ? [plain] : [`mqtts://${hostname}:${config.MQTTS_PORT}`, plain];
}

async function openRedis(host: ServiceHost<Http>): Promise<Redis> {
  const redis = connectRedis(host.config.REDIS_URL, host.logger);
  host.onStop('fleet Redis', () => redis.disconnect());
  // Until it is connected, commands fail at once; it keeps reconnecting.
  await once(redis, 'ready').catch(() => undefined);
  return redis;
}

interface OperatorOptions {
  readonly db: ReturnType<typeof openFleetDatabase>;
  readonly changes: ChangeAnnouncer;
  readonly rechecks: SessionRechecks;
  readonly config: ResolvedConfig;
  /** Seals the tokens of sources. */
  readonly sealer: Sealer;
}

function operatorPlugins({ db, changes, rechecks, config, sealer }: OperatorOptions): RoutePlugin[] {
  return [
    operatorApplicationRoutes(db, changes),
    operatorUserRoutes(db),
    operatorOperatorRoutes(db),
    operatorVehicleRoutes(db, changes),
    operatorDeviceRoutes({
      ...{ db, changes, recheckSession: (deviceId) => rechecks.request(deviceId) },
      addressesFor: (hostname) => addressesOf(config, hostname),
    }),
    operatorDeviceImportRoutes(db, changes),
    operatorDeviceModelRoutes(db),
    operatorCanDatabaseRoutes(db),
    operatorSourceRoutes(db, sealer),
    operatorGbfsRoutes(db),
    operatorRequestRoutes(db, changes),
    operatorPersonRoutes(db),
    operatorAuditRoutes(db),
  ];
}

/** Accounts, vehicles, devices, parking, privacy, states and the operator's routes for them. */
export const fleetService: Service<Http> = {
  name: 'fleet',
  async start(host) {
    const { config, http, adminToken } = host;
    const db = openFleetDatabase(host);
    const redis = await openRedis(host);
    const changes = new ChangeAnnouncer(redis, host);
    const loginLimit = new LoginLimit(redis, config.QUEUE_PREFIX, config.LOGIN_ATTEMPTS_PER_MINUTE);
    const lifetimes = {
      accessSeconds: config.ACCESS_TOKEN_SECONDS,
      refreshSeconds: config.REFRESH_TOKEN_SECONDS,
      sessionSeconds: config.SESSION_SECONDS,
    };
    const sealer = await openSealer(config, 'source tokens');
    const rechecks = new SessionRechecks({ ...host, redis, channel: deviceRevokedChannel(config.QUEUE_PREFIX) });
    host.onStop('session rechecks', () => rechecks.stop());

    const accounts = accountsIn(db);
    const kept = answersIn(db, await readEncryptionKeys(config));
    const sessions = {
      ...{ db, loginLimit, sessionSeconds: config.SESSION_SECONDS },
      addressLimit: new LoginLimit(redis, config.QUEUE_PREFIX, config.LOGIN_ATTEMPTS_PER_MINUTE * accountsPerAddress),
    };
    await loginRoutes({ db, lifetimes, loginLimit })(http);
    await signInRoutes(sessions)(http);
    await sessionRoutes(http, accounts, [personRoutes(sessions)]);
    const plugins = [
      passwordRoutes({ db, loginLimit }),
      vehicleRoutes(db, changes),
      stateRoutes(db, changes),
      privacyRoutes(db, changes),
      deviceRoutes(db, changes),
      parkingRoutes(db),
      alarmRoutes({ db, changes }),
    ];
    await tokenRoutes(http, accounts, plugins, kept);
    await viewerRoutes(http, { accounts, adminToken }, [
      deviceTableRoutes(db, {
        findConnected: (ids) => findPresent(redis, config.QUEUE_PREFIX, ids),
        findEnds: (ids) => findSessionEnds(redis, config.QUEUE_PREFIX, ids),
      }),
      alarmViewRoutes(db),
    ]);
    const guard = { accounts, adminToken, kept };
    await operatorRoutes(http, guard, operatorPlugins({ db, changes, rechecks, config, sealer }));

    return {
      async health() {
        await pingDatabase(db);
        if (rechecks.pending === 0) return { ok: true, state: 'running' };
        return { ok: false, state: `brokers do not know of revoked credentials of ${rechecks.pending} devices` };
      },
    };
  },
};
