import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '@odograph/database/database';
import { createHttp } from '@odograph/http/create-http';
import type { Http } from '@odograph/http/http';
import { addOperationRoutes } from '@odograph/http/operations';
import { recordKeyUses } from '@odograph/http/record-key-uses';
import { recordWrites } from '@odograph/http/record-writes';
import { type ResolvedConfig, readConfig, resolveConfig } from '@odograph/runtime/config';
import { limits as defaultLimits, type Limits } from '@odograph/runtime/limits';
import { createLogger, type Logger } from '@odograph/runtime/logger';
import { Registry } from '@odograph/runtime/metrics';
import { type RunningServices, type Service, startServices } from '@odograph/runtime/service';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { inject } from 'vitest';
import { clientsOf, type PlatformClients } from './api-client.ts';
import { roleSettings } from './database-roles.ts';
import { freePort } from './free-port.ts';
import { testDatabaseUrl } from './test-database.ts';

export const testAdminToken = 'admin-token-of-the-tests';

/** One key for all tests, since they share a database. */
export const testEncryptionKeys = 'encryption-key-of-the-tests-0123456789';

export interface TestPlatform extends PlatformClients {
  readonly config: ResolvedConfig;
  readonly httpUrl: string;
  readonly mqttUrl: string;
  /** The test's own connections, as the owner of the database. */
  readonly db: Database;
  readonly metrics: Registry;
  stop(): Promise<void>;
}

/**
 * Builds the settings of one test: the engines of the run, with its own queues, ports and data directory. Every service has only
 * the rights of its own database role.
 */
export async function testConfig(settings: Record<string, string> = {}): Promise<ResolvedConfig> {
  const config = readConfig({
    LOG_LEVEL: 'silent',
    QUEUE_PREFIX: `test-${randomUUID()}`,
    HTTP_PORT: '0',
    MQTT_PORT: String(await freePort()),
    TELTONIKA_PORT: '0',
    ADMIN_TOKEN: testAdminToken,
    ENCRYPTION_KEYS: testEncryptionKeys,
    DATA_DIR: settings['DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'odograph-test-'))),
    HTTP_REQUESTS_PER_MINUTE: '1000000',
    ACK_TIMEOUT_MS: '3000',
    DATABASE_POOL_SIZE: '4',
    QUARANTINE_RETENTION_DAYS: '0',
    SESSION_DRAIN_MS: '1000',
    ...roleSettings(settings['DATABASE_URL'] ?? testDatabaseUrl()),
    ...settings,
  });
  return resolveConfig(config, {
    databaseUrl: config.DATABASE_URL ?? testDatabaseUrl(),
    redisUrl: config.REDIS_URL ?? inject('redisUrl'),
  });
}

export const mqttUrlOf = ({ MQTT_HOST, MQTT_PORT }: ResolvedConfig): string => `mqtt://${MQTT_HOST}:${MQTT_PORT}`;

/** Tests send as fast as they can, from one address, and use fixed times years in the past. */
const testLimits: Limits = {
  ...defaultLimits,
  maxLoginFailuresPerMinute: 100_000,
  maxConnectFailuresPerAddress: 1_000_000,
  deviceUploadsPerSecond: 1_000_000,
  deviceBytesPerSecond: 1_000_000_000,
  sourceRequestsPerSecond: 1_000_000,
  sourceBytesPerSecond: 1_000_000_000,
  maxReadingAgeDays: 36_500,
  maxNewChunksPerHour: 1_000_000,
  minTripsIntervalMs: 100,
  maxJobRetryMs: 1000,
};

/** Starts services in the process of the test, on the engines of the run; the caller stops them. */
export async function startTestPlatform(
  services: readonly Service<Http>[],
  settings: Record<string, string> = {},
  ownLimits: Partial<Limits> = {},
): Promise<TestPlatform> {
  const config = await testConfig(settings);
  const logger = createLogger(config.LOG_LEVEL);
  const shutdownHooks = new ShutdownHooks(logger);
  if (settings['DATA_DIR'] === undefined)
    shutdownHooks.add('data directory', () => rm(config.DATA_DIR, { recursive: true, force: true }));
  try {
    return await startOn({ config, logger, shutdownHooks, limits: { ...testLimits, ...ownLimits } }, services);
  } catch (error) {
    // Services that have started would otherwise process rows of later test files.
    await shutdownHooks.run();
    throw error;
  }
}

interface TestHost {
  readonly config: ResolvedConfig;
  readonly logger: Logger;
  readonly shutdownHooks: ShutdownHooks;
  readonly limits: Limits;
}

async function startOn(
  { config, logger, shutdownHooks, limits }: TestHost,
  services: readonly Service<Http>[],
): Promise<TestPlatform> {
  const db = openDatabase({ url: config.DATABASE_URL, name: 'test', size: 2 });
  shutdownHooks.add('database', () => db.destroy());
  const metrics = new Registry();
  const onStop = shutdownHooks.add.bind(shutdownHooks);
  const http = await createHttp(config, logger, limits);
  recordWrites(http, { config, logger, onStop });
  recordKeyUses(http, { config, logger, onStop });
  let running: RunningServices = new Map();
  addOperationRoutes(http, {
    services: () => running,
    metrics,
    adminToken: testAdminToken,
    config,
  });
  running = await startServices(services, {
    ...{ config, limits, logger, metrics, http, adminToken: testAdminToken, onStop },
  });
  shutdownHooks.add('http', () => http.close());
  const httpUrl = await http.listen({ host: config.HTTP_HOST, port: 0 });
  for (const service of running.values()) await service.ready?.();
  return {
    ...{ config, httpUrl, mqttUrl: mqttUrlOf(config), db, metrics, stop: () => shutdownHooks.run() },
    ...clientsOf(httpUrl, testAdminToken),
  };
}
