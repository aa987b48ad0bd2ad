import { X509Certificate } from 'node:crypto';
import type { StatsFs } from 'node:fs';
import { readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { createHttp } from '@odograph/http/create-http';
import type { Http } from '@odograph/http/http';
import { addOperationRoutes, createDrain } from '@odograph/http/operations';
import { recordKeyUses } from '@odograph/http/record-key-uses';
import { recordWrites } from '@odograph/http/record-writes';
import { ensureAdminToken } from '@odograph/runtime/admin-token';
import type { Config } from '@odograph/runtime/config';
import { limits as defaultLimits, type Limits } from '@odograph/runtime/limits';
import type { Logger } from '@odograph/runtime/logger';
import { collectDefaultMetrics, Gauge, Registry } from '@odograph/runtime/metrics';
import { platformVersion } from '@odograph/runtime/platform-version';
import { connectRedis } from '@odograph/runtime/redis';
import { redisServers } from '@odograph/runtime/redis-url';
import {
  type RunningService,
  type RunningServices,
  type Service,
  type ServiceHealth,
  type ServiceHost,
  startServices,
} from '@odograph/runtime/service';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { startTracing } from '@odograph/runtime/tracing';
import { type Allowances, prepareEngines, requireReadableValues } from './engines.ts';
import { watchHealth } from './health-alerts.ts';
import { checkDataDirectory, readRedisFaults } from './start-checks.ts';

/** A running platform. */
export interface Platform {
  /** Address of the HTTP interface. */
  readonly httpUrl: string;
  readonly mqttUrl: string;
  /** Fails readiness for SHUTDOWN_DRAIN_MS, so that load balancers send requests elsewhere; call it before `stop`. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

interface StartOptions extends Allowances {
  readonly limits?: Limits;
}

async function open(
  config: Config,
  logger: Logger,
  services: readonly Service<Http>[],
  shutdownHooks: ShutdownHooks,
  { limits = defaultLimits, ...allowed }: StartOptions,
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
  recordWrites(http, { config: resolved, logger, onStop });
  recordKeyUses(http, { config: resolved, logger, onStop });
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
  watchHealth(host, running);
  await http.listen({ host: resolved.HTTP_HOST, port: resolved.HTTP_PORT });
  const address = http.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : resolved.HTTP_PORT;
  return {
    httpUrl: `http://${resolved.HTTP_HOST}:${port}`,
    mqttUrl: `mqtt://${resolved.MQTT_HOST}:${resolved.MQTT_PORT}`,
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

/** Returns the addresses for users and devices at which a ready process with these services listens. */
export function describeAddresses(
  config: Config,
  { httpUrl, mqttUrl }: Pick<Platform, 'httpUrl' | 'mqttUrl'>,
  serviceNames: readonly string[],
): Record<string, string> {
  const pages = { page: `${httpUrl}/`, reference: `${httpUrl}/docs` };
  const mqtts =
    config.MQTT_TLS_CERTIFICATE === undefined
      ? 'off: set MQTT_TLS_CERTIFICATE and MQTT_TLS_KEY'
      : `mqtts://${config.MQTT_HOST}:${config.MQTTS_PORT}`;
  const teltonika =
    config.TELTONIKA_PORT === 0
      ? 'off: set TELTONIKA_PORT'
      : `${config.TELTONIKA_HOST}:${config.TELTONIKA_PORT}, TCP and UDP`;
  return {
    ...(serviceNames.includes('console') ? pages : {}),
    ...(serviceNames.includes('broker') ? { mqtt: mqttUrl, mqtts } : {}),
    ...(serviceNames.includes('gateway') ? { teltonika } : {}),
  };
}

type Host = Pick<ServiceHost, 'config' | 'logger' | 'metrics' | 'onStop'>;

/**
 * Watches Redis for settings that can lose acknowledged uploads: checked every 10 s, logged at each change, in the metric
 * `odograph_redis_durable`, and a failure in /health unless REDIS_ALLOW_DATA_LOSS permits it.
 */
export function watchRedisDurability({ config, logger, metrics, onStop }: Host, checkMs = 10_000): RunningService {
  const servers = redisServers(config.REDIS_URL).map((url) => connectRedis(url, logger));
  const gauge = new Gauge({
    name: 'odograph_redis_durable',
    help: '1 while the settings of Redis keep every acknowledged upload, otherwise 0',
    registers: [metrics],
  });
  let faults: string[] = [];
  let logged = '';
  const check = async (): Promise<void> => {
    const ready = servers.filter(({ status }) => status === 'ready');
    if (ready.length === 0) return;
    const found = config.REDIS_IS_DURABLE ? await Promise.all(ready.map(readRedisFaults)) : [['it runs in memory']];
    faults = [...new Set(found.flat())];
    gauge.set(faults.length === 0 ? 1 : 0);
    const fact = faults.join(', ');
    if (fact !== logged && fact !== '') logger.warn({ faults }, 'Redis can lose acknowledged uploads');
    logged = fact;
  };
  const checkLogged = (): void => {
    check().catch((error: unknown) => logger.warn({ err: error }, 'settings of Redis not readable'));
  };
  for (const redis of servers) redis.on('ready', checkLogged);
  const timer = setInterval(checkLogged, checkMs);
  onStop('watch of Redis', () => {
    clearInterval(timer);
    for (const redis of servers) redis.disconnect();
  });
  return {
    health(): ServiceHealth {
      const away = servers.flatMap(({ status }, index) => (status === 'ready' ? [] : [index + 1]));
      if (away.length === servers.length)
        return { ok: false, state: 'Redis is unreachable; if it exited, see its log (a full disk ends it)' };
      // The other servers accept uploads: load balancers must keep sending devices here. Ingest fails /health.
      const unreachable = away.length === 0 ? '' : `unreachable in REDIS_URL: server ${away.join(', ')}`;
      if (faults.length === 0) return { ok: true, state: unreachable || 'durable' };
      const state = `can lose acknowledged uploads: ${faults.join(', ')}${unreachable && `; ${unreachable}`}`;
      return { ok: !config.REDIS_IS_DURABLE || config.REDIS_ALLOW_DATA_LOSS, state };
    },
  };
}

/**
 * Watches the data directory while the platform runs: a disk that is full or read-only is logged once, and a failure in
 * /health, in addition to the failures that it causes elsewhere.
 * @param config the settings as given, without embedded engines
 */
export function watchDataDirectory(
  { logger, onStop }: Pick<ServiceHost, 'logger' | 'onStop'>,
  config: Config,
  checkMs = 10_000,
): RunningService {
  let fault: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const check = async (): Promise<void> => {
    const found = await checkDataDirectory(config).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (isStopped) return;
    if (found !== undefined && found !== fault) logger.error({ directory: config.DATA_DIR }, found);
    if (found === undefined && fault !== undefined)
      logger.info({ directory: config.DATA_DIR }, 'data directory writable');
    fault = found;
    timer = setTimeout(() => void check(), checkMs);
  };
  timer = setTimeout(() => void check(), checkMs);
  onStop('watch of the data directory', () => {
    isStopped = true;
    clearTimeout(timer);
  });
  return { health: () => ({ ok: fault === undefined, state: fault ?? 'writable' }) };
}

/**
 * Registers the metrics that every process has: of Node.js, its version, the disks of its directories, and when its
 * certificates expire. A directory or certificate that cannot be read has no sample.
 */
function addProcessMetrics(metrics: Registry, config: Config): void {
  collectDefaultMetrics({ register: metrics });
  new Gauge({
    name: 'odograph_build_info',
    help: '1, labelled by the version of the platform and of Node.js',
    labelNames: ['version', 'node'] as const,
    registers: [metrics],
  }).set({ version: platformVersion(), node: process.versions.node }, 1);
  addDiskMetrics(metrics, config);
  addCertificateMetrics(metrics, config);
}

function addDiskMetrics(metrics: Registry, { DATA_DIR }: Config): void {
  // Exports may be on a volume of their own.
  const directories = Object.entries({ DATA_DIR, 'DATA_DIR/exports': join(DATA_DIR, 'exports') });
  const addGauge = (name: string, help: string, read: (disk: StatsFs) => number) =>
    new Gauge({
      ...{ name, help, labelNames: ['setting'] as const, registers: [metrics] },
      async collect() {
        this.reset();
        for (const [setting, directory] of directories) {
          const disk = await statfs(directory).catch(() => undefined);
          if (disk !== undefined) this.set({ setting }, read(disk));
        }
      },
    });
  addGauge(
    'odograph_disk_free_bytes',
    'Space available to this process on the file system of a directory, by setting',
    ({ bsize, bavail }) => bsize * bavail,
  );
  addGauge(
    'odograph_disk_size_bytes',
    'Size of the file system of a directory, by setting',
    ({ bsize, blocks }) => bsize * blocks,
  );
}

function addCertificateMetrics(metrics: Registry, { MQTT_TLS_CERTIFICATE, MQTT_TLS_CLIENT_CA }: Config): void {
  const files = Object.entries({ MQTT_TLS_CERTIFICATE, MQTT_TLS_CLIENT_CA });
  new Gauge({
    name: 'odograph_certificate_expiry_timestamp_seconds',
    help: 'When the first certificate of a file expires, in UNIX seconds, by the setting that names the file',
    labelNames: ['setting'] as const,
    registers: [metrics],
    async collect() {
      this.reset();
      for (const [setting, path] of files) {
        const expiry = path === undefined ? undefined : await readExpiry(path).catch(() => undefined);
        if (expiry !== undefined) this.set({ setting }, expiry / 1000);
      }
    },
  });
}

/** Returns when the first certificate of a PEM file expires, in UNIX ms. @throws when the file has none or is unreadable */
async function readExpiry(path: string): Promise<number> {
  const blocks = (await readFile(path, 'utf8')).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  const expiries = (blocks ?? []).map((block) => Date.parse(new X509Certificate(block).validTo));
  if (expiries.length === 0) throw new Error(`${path} holds no certificate in PEM`);
  return Math.min(...expiries);
}
