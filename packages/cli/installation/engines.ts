import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase, pingDatabase } from '@odograph/database/database';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { startEmbeddedRedis } from '@odograph/embedded/redis/redis';
import { type Config, embeddedEnginesFile } from '@odograph/runtime/config';

/** The engines of an installation, as a command of this host reaches them. */
export interface Engines {
  /** Connects as the owner of the tables. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** True when a running platform owns the embedded engines. */
  readonly arePlatforms: boolean;
  /** Stops the engines that were started for the command. */
  stop(): Promise<void>;
}

interface Addresses {
  databaseUrl?: string;
  redisUrl?: string;
}

/** Reads the addresses that a running platform published; a platform that was killed leaves a stale file. */
async function runningEngines(config: Config): Promise<Addresses> {
  const content = await readFile(join(config.DATA_DIR, embeddedEnginesFile), 'utf8').catch(() => undefined);
  if (content === undefined) return {};
  const addresses = JSON.parse(content) as Addresses;
  if (addresses.databaseUrl === undefined) return addresses;
  const db = openDatabase({ url: addresses.databaseUrl, name: 'cli', size: 1 });
  try {
    await pingDatabase(db);
    return addresses;
  } catch {
    return {};
  } finally {
    await db.destroy();
  }
}

/**
 * Finds the engines of the installation: those of the settings, else the embedded ones of the running platform, else
 * embedded engines started on its data directory.
 */
export async function openEngines(config: Config): Promise<Engines> {
  const running = await runningEngines(config);
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.toReversed()) await one();
  };
  try {
    let databaseUrl = config.MIGRATION_DATABASE_URL ?? config.DATABASE_URL ?? running.databaseUrl;
    if (databaseUrl === undefined) {
      const engine = await startEmbeddedTimescale({ dataDirectory: join(config.DATA_DIR, 'timescaledb') });
      stops.push(engine.stop);
      databaseUrl = engine.url;
    }
    let redisUrl = config.REDIS_URL ?? running.redisUrl;
    if (redisUrl === undefined) {
      const engine = await startEmbeddedRedis({ dataDirectory: join(config.DATA_DIR, 'redis') });
      stops.push(engine.stop);
      redisUrl = engine.url;
    }
    return { databaseUrl, redisUrl, arePlatforms: running.databaseUrl !== undefined, stop };
  } catch (error) {
    // A running engine would keep this process alive and the data directory locked.
    await stop();
    throw error;
  }
}
