import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findDatabaseFaults, recognizeDatabase } from '@odograph/database/installation';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { startEmbeddedRedis } from '@odograph/embedded/redis/redis';
import { type Config, embeddedEnginesFile, type ResolvedConfig, resolveConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import type { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { migrateDatabase, migrationSetting, StartFailure } from './start-checks.ts';

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
  config: Config,
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string },
  shutdownHooks: ShutdownHooks,
): Promise<void> {
  if (config.DATABASE_URL !== undefined && config.REDIS_URL !== undefined) return;
  const path = join(config.DATA_DIR, embeddedEnginesFile);
  const addresses = {
    ...(config.DATABASE_URL === undefined ? { databaseUrl } : {}),
    ...(config.REDIS_URL === undefined ? { redisUrl } : {}),
  };
  await mkdir(config.DATA_DIR, { recursive: true });
  await writeFile(path, JSON.stringify(addresses), { mode: 0o600 });
  shutdownHooks.add('addresses of the embedded engines', () => rm(path, { force: true }));
}

/**
 * Refuses a database that lost a part in a restore, and recognizes a copy.
 * @throws StartFailure unless ALLOW_INCOMPLETE_DATABASE permits it
 */
async function requireWholeDatabase(config: Config, logger: Logger, url: string): Promise<void> {
  const faults = await findDatabaseFaults(url);
  if (faults.length > 0 && !config.ALLOW_INCOMPLETE_DATABASE) {
    const advice = 'restore it as docs/operating.md describes, or set ALLOW_INCOMPLETE_DATABASE=true';
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
  await requireWholeDatabase(config, logger, ownerUrl);
  return resolveConfig(config, engines);
}
