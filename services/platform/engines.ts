import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '@odograph/database/database';
import { findDatabaseFaults, recognizeDatabase } from '@odograph/database/installation';
import { describeUnreadable, type SealedValues, sealedValues } from '@odograph/database/sealed-values';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { startEmbeddedRedis } from '@odograph/embedded/redis/redis';
import {
  type Config,
  configOfService,
  embeddedEnginesFile,
  InvalidSettings,
  type ResolvedConfig,
  resolveConfig,
} from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { openSealer } from '@odograph/runtime/sealing';
import type { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { migrateDatabase, migrationSetting, requireCell, StartFailure } from './start-checks.ts';

/** Losses that an operator accepts at start, by command-line option. */
export interface Allowances {
  readonly 'allow-unreadable-values'?: boolean;
  readonly 'allow-incomplete-database'?: boolean;
}

const notDurable =
  'redis-server is not on the PATH: Redis runs in memory; uploads are acknowledged once they are in the database';

async function databaseUrl(config: Config, logger: Logger, shutdownHooks: ShutdownHooks): Promise<string> {
  if (config.DATABASE_URL !== undefined) return config.DATABASE_URL;
  const dataDirectory = join(config.DATA_DIR, 'timescaledb');
  const engine = await startEmbeddedTimescale({
    dataDirectory,
    onLine: (line) => logger.warn({ line }, 'output of embedded TimescaleDB'),
  });
  shutdownHooks.add('embedded TimescaleDB', engine.stop);
  logger.info({ dataDirectory }, 'embedded TimescaleDB started');
  return engine.url;
}

async function redis(config: Config, logger: Logger, shutdownHooks: ShutdownHooks) {
  if (config.REDIS_URL !== undefined) return { redisUrl: config.REDIS_URL, redisIsDurable: true };
  const dataDirectory = join(config.DATA_DIR, 'redis');
  const engine = await startEmbeddedRedis({
    dataDirectory,
    onLine: (line) => logger.debug({ line }, 'output of embedded Redis'),
  });
  shutdownHooks.add('embedded Redis', engine.stop);
  if (engine.durable) logger.info({ dataDirectory }, 'embedded Redis started');
  else logger.warn(notDurable);
  return { redisUrl: engine.url, redisIsDurable: engine.durable };
}

/** Writes the addresses of embedded engines, which listen on any free port, for the command line of this host. */
async function publishEngines(
  { DATABASE_URL, REDIS_URL, DATA_DIR }: Config,
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string },
  shutdownHooks: ShutdownHooks,
): Promise<void> {
  if (DATABASE_URL !== undefined && REDIS_URL !== undefined) return;
  const path = join(DATA_DIR, embeddedEnginesFile);
  const addresses = { ...(!DATABASE_URL && { databaseUrl }), ...(!REDIS_URL && { redisUrl }) };
  await mkdir(DATA_DIR, { recursive: true });
  await writeFile(path, JSON.stringify(addresses), { mode: 0o600 });
  shutdownHooks.add('addresses of the embedded engines', () => rm(path, { force: true }));
}

/**
 * Refuses a database that lost a part in a restore, and recognizes a copy.
 * @throws StartFailure unless --allow-incomplete-database is given
 */
async function requireWholeDatabase(logger: Logger, url: string, allowed: Allowances): Promise<void> {
  const faults = await findDatabaseFaults(url);
  if (faults.length > 0 && !allowed['allow-incomplete-database']) {
    const advice = 'restore it as docs/operating.md describes, or start with --allow-incomplete-database';
    throw new StartFailure('DATABASE_URL', `the database is incomplete: ${faults.join('; ')}; ${advice}`);
  }
  if (faults.length > 0) logger.warn({ faults }, 'started on an incomplete database');
  if (await recognizeDatabase(url)) logger.warn('the database is a copy: readers of the change feed must start again');
}

/** Connects to or starts TimescaleDB and Redis, and migrates the database. */
export async function prepareEngines(
  config: Config,
  logger: Logger,
  shutdownHooks: ShutdownHooks,
  allowed: Allowances,
): Promise<ResolvedConfig> {
  const engines = {
    databaseUrl: await databaseUrl(config, logger, shutdownHooks),
    ...(await redis(config, logger, shutdownHooks)),
  };
  await publishEngines(config, engines, shutdownHooks);
  const ownerUrl = config.MIGRATION_DATABASE_URL ?? engines.databaseUrl;
  const applied = await migrateDatabase(migrationSetting(config), ownerUrl, (migration) =>
    logger.warn({ migration }, 'migration is waiting for locks'),
  );
  if (applied.length > 0) logger.info({ applied }, 'database migrated');
  await requireWholeDatabase(logger, ownerUrl, allowed);
  await requireCell(ownerUrl, config.CELL);
  return resolveConfig(config, engines);
}

/** The sealed values that each service opens with ENCRYPTION_KEYS. */
const openedBy: Readonly<Record<string, readonly SealedValues[]>> = {
  access: ['deviceKeys'],
  gateway: ['sourceTokens'],
  console: ['quarantine'],
  events: ['webhookSecrets', 'pushKey'],
  fleet: ['secondFactors'],
};

/**
 * Refuses to start with ENCRYPTION_KEYS that cannot open what is stored: a mistyped or dropped key would otherwise show
 * only when a driver stands at a locked vehicle. With --allow-unreadable-values, for lost keys, it warns instead.
 * @throws InvalidSettings with the number of values that no key opens
 */
export async function requireReadableValues(
  config: ResolvedConfig,
  logger: Logger,
  services: readonly string[],
  allowed: Allowances = {},
): Promise<void> {
  const unreadable: string[] = [];
  const opened = services.flatMap((service) => openedBy[service]?.map((kind) => [service, kind] as const) ?? []);
  for (const [service, kind] of opened) {
    const { keyIds } = await openSealer(config, sealedValues[kind].purpose);
    const db = openDatabase({ url: configOfService(config, service).DATABASE_URL, name: 'keys', size: 1 });
    try {
      const found = await describeUnreadable(db, kind, keyIds);
      if (found !== undefined) unreadable.push(found);
    } finally {
      await db.destroy();
    }
  }
  if (unreadable.length === 0) return;
  const setting = config.ENCRYPTION_KEYS === undefined ? `${config.DATA_DIR}/encryption-key` : 'ENCRYPTION_KEYS';
  const advice = 'add the key that sealed them, or, if it is lost, start with --allow-unreadable-values';
  const fault = `${setting}: no key opens ${unreadable.join(' and ')}; ${advice}`;
  if (!allowed['allow-unreadable-values']) throw new InvalidSettings([fault]);
  logger.warn({ fault }, 'started with unreadable values');
}
