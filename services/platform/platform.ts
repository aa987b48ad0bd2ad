import { createHttp } from '@odograph/http/create-http';
import type { Http } from '@odograph/http/http';
import { addOperationRoutes, createDrain } from '@odograph/http/operations';
import { ensureAdminToken } from '@odograph/runtime/admin-token';
import type { Config } from '@odograph/runtime/config';
import { type Limits, limits as standardLimits } from '@odograph/runtime/limits';
import type { Logger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { platformVersion } from '@odograph/runtime/platform-version';
import { type RunningServices, type Service, startServices } from '@odograph/runtime/service';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { startTracing } from '@odograph/runtime/tracing';
import { type Allowances, prepareEngines, requireReadableValues } from './engines.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { watchDataDirectory, watchRedisDurability } from './watches.ts';

/** A running platform. */
export interface Platform {
  /** Address of the HTTP interface. */
  readonly httpUrl: string;
  readonly mqttUrl: string;
  /** Fails readiness for SHUTDOWN_DRAIN_MS, so that load balancers send requests elsewhere; call it before `stop`. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions extends Allowances {
  readonly limits?: Limits;
}

async function open(
  config: Config,
  logger: Logger,
  services: readonly Service<Http>[],
  shutdownHooks: ShutdownHooks,
  { limits = standardLimits, ...allowed }: StartOptions,
): Promise<Platform> {
  const onStop = shutdownHooks.add.bind(shutdownHooks);
  await startTracing(config, platformVersion(), { logger, onStop });
  const adminToken = await ensureAdminToken(config);
  const resolved = await prepareEngines(config, logger, shutdownHooks, allowed);
  const names = services.map(({ name }) => name);
  await requireReadableValues(resolved, logger, names, allowed);
  const metrics = new Registry();
  addProcessMetrics(metrics, config);
  const http = await createHttp(resolved, logger, limits);
  let running: RunningServices = new Map();
  const drain = createDrain(http);
  addOperationRoutes(http, { services: () => running, metrics, adminToken, config: resolved, drain });
  const host = { config: resolved, limits, logger, metrics, http, adminToken, onStop };
  running = new Map([
    ...(await startServices(services, host)),
    ['redis', watchRedisDurability(host)],
    ['data directory', watchDataDirectory(host, config)],
  ]);
  shutdownHooks.add('http', () => http.close());
  // Listening comes last, so that no request meets a service that is not ready.
  for (const service of running.values()) await service.ready?.();
  await http.listen({ host: resolved.HTTP_HOST, port: resolved.HTTP_PORT });
  const address = http.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : resolved.HTTP_PORT;
  return {
    httpUrl: `http://${resolved.HTTP_HOST}:${port}`,
    mqttUrl: resolved.MQTT_URL,
    drain: () => drain.begin(resolved.SHUTDOWN_DRAIN_MS),
    stop: () => shutdownHooks.run(),
  };
}

/** Starts services on given or embedded engines. @throws when a part does not start, after closing the parts that did */
export async function startPlatform(
  config: Config,
  logger: Logger,
  services: readonly Service<Http>[],
  options: StartOptions = {},
): Promise<Platform> {
  const shutdownHooks = new ShutdownHooks(logger);
  try {
    return await open(config, logger, services, shutdownHooks, options);
  } catch (error) {
    await shutdownHooks.run();
    throw error;
  }
}

/** Returns the addresses of a ready platform for users and devices. */
export function describeAddresses(config: Config, { httpUrl, mqttUrl }: Pick<Platform, 'httpUrl' | 'mqttUrl'>) {
  return {
    page: `${httpUrl}/`,
    reference: `${httpUrl}/docs`,
    mqtt: mqttUrl,
    mqtts:
      config.MQTT_TLS_CERTIFICATE === undefined
        ? 'off: set MQTT_TLS_CERTIFICATE and MQTT_TLS_KEY'
        : `mqtts://${config.MQTT_HOST}:${config.MQTTS_PORT}`,
    teltonika:
      config.TELTONIKA_PORT === 0
        ? 'off: set TELTONIKA_PORT'
        : `${config.TELTONIKA_HOST}:${config.TELTONIKA_PORT}, TCP and UDP`,
  };
}
