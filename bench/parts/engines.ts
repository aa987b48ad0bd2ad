import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { createPool } from '@odograph/database/pool';
import { startEmbeddedTimescale } from '@odograph/embedded/postgres/timescaledb';
import { startEmbeddedRedis } from '@odograph/embedded/redis/redis';
import { readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';

export type Pool = ReturnType<typeof createPool>;

/** The engines of one benchmark; shutdown hooks close connections to them first. */
export interface Engines {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The benchmark's own connections. */
  readonly pool: Pool;
  /** Prefix of every key of the benchmark; these keys are removed at the end. */
  readonly queuePrefix: string;
  /** Directory of temporary files, removed at the end. */
  readonly directory: string;
  /** Kind and version, for display. */
  readonly database: string;
  readonly redis: string;
  onStop(name: string, close: () => unknown): void;
}

/** Creates a database on the given server, which is dropped at the end. */
async function createDatabase(serverUrl: string, shutdownHooks: ShutdownHooks): Promise<string> {
  const name = `odograph_bench_${process.pid}_${Date.now()}`;
  const server = createPool({ url: serverUrl, name: 'bench', size: 1 });
  shutdownHooks.add('benchmark database', async () => {
    await server.query(`drop database if exists ${name} with (force)`);
    await server.end();
  });
  await server.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function openDatabase(
  given: string | undefined,
  directory: string,
  shutdownHooks: ShutdownHooks,
): Promise<string> {
  if (given !== undefined) return createDatabase(given, shutdownHooks);
  const engine = await startEmbeddedTimescale({ dataDirectory: join(directory, 'timescaledb') });
  shutdownHooks.add('embedded TimescaleDB', engine.stop);
  return engine.url;
}

async function openRedis(given: string | undefined, directory: string, shutdownHooks: ShutdownHooks): Promise<string> {
  if (given !== undefined) return given;
  const engine = await startEmbeddedRedis({ dataDirectory: join(directory, 'redis') });
  shutdownHooks.add('embedded Redis', engine.stop);
  return engine.url;
}

async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000);
    if (keys.length > 0) await redis.unlink(...keys);
    cursor = next;
  } while (cursor !== '0');
}

async function describeDatabase(pool: Pool, kind: string): Promise<string> {
  const { rows } = await pool.query<{ postgres: string; timescale: string; memory: string; commit: string }>(
    `select current_setting('server_version') as postgres, current_setting('shared_buffers') as memory,
      current_setting('synchronous_commit') as commit,
      (select extversion from pg_extension where extname = 'timescaledb') as timescale`,
  );
  const [row] = rows;
  return `${kind}, PostgreSQL ${row?.postgres}, TimescaleDB ${row?.timescale}, shared_buffers ${row?.memory}, synchronous_commit ${row?.commit}`;
}

async function describeRedis(redis: Redis, kind: string): Promise<string> {
  const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? 'of unknown version';
  const setting = await redis.config('GET', 'appendfsync').catch(() => []);
  const fsync = Array.isArray(setting) ? (setting[1] ?? 'unknown') : 'unknown';
  return `${kind}, version ${version}, appendfsync ${fsync}`;
}

async function openEngines(shutdownHooks: ShutdownHooks): Promise<Engines> {
  const config = readConfig();
  const directory = await mkdtemp(join(tmpdir(), 'odograph-bench-'));
  shutdownHooks.add('directory', () => rm(directory, { recursive: true, force: true }));
  const databaseUrl = await openDatabase(config.DATABASE_URL, directory, shutdownHooks);
  const redisUrl = await openRedis(config.REDIS_URL, directory, shutdownHooks);
  await migrate(databaseUrl);
  const pool = createPool({ url: databaseUrl, name: 'bench', size: 4 });
  shutdownHooks.add('database connections', () => pool.end());
  const queuePrefix = `odograph-bench-${process.pid}`;
  const redis = connectRedis(redisUrl, createLogger('silent'));
  await once(redis, 'ready');
  shutdownHooks.add('Redis keys', async () => {
    await removeKeys(redis, queuePrefix);
    redis.disconnect();
  });
  return {
    databaseUrl,
    redisUrl,
    pool,
    queuePrefix,
    directory,
    database: await describeDatabase(pool, config.DATABASE_URL === undefined ? 'embedded' : 'native'),
    redis: await describeRedis(redis, config.REDIS_URL === undefined ? 'embedded' : 'given'),
    onStop: shutdownHooks.add.bind(shutdownHooks),
  };
}

/** Runs a benchmark on given or embedded engines and cleans up, also when it fails or is interrupted. */
export async function withEngines(work: (engines: Engines) => Promise<void>): Promise<void> {
  const shutdownHooks = new ShutdownHooks(createLogger('error'));
  const interrupted = (): void => {
    void shutdownHooks.run().finally(() => process.exit(130));
  };
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    await work(await openEngines(shutdownHooks));
  } finally {
    await shutdownHooks.run();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  }
}
