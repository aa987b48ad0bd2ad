import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@odograph/database/migrate';
import { createPool } from '@odograph/database/pool';
import { readConfig } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { ShutdownHooks } from '@odograph/runtime/shutdown-hooks';
import { startEngine } from '@odograph/testkit/engines';

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
  /** Directory for CPU profiles of the services; empty for none. */
  readonly profile: string;
  /** Kind and version, for display. */
  readonly database: string;
  readonly redis: string;
  onStop(name: string, close: () => unknown): void;
}

/** Creates a database on the given server, which is dropped at the end. */
async function createDatabase(serverUrl: string, onStop: Engines['onStop']): Promise<string> {
  const name = `odograph_bench_${process.pid}_${Date.now()}`;
  const server = createPool({ url: serverUrl, name: 'bench', size: 1 });
  onStop('benchmark database', async () => {
    await server.query(`drop database if exists ${name} with (force)`);
    await server.end();
  });
  await server.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000);
    if (keys.length > 0) await redis.unlink(...keys);
    cursor = next;
  } while (cursor !== '0');
}

async function describeDatabase(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ description: string }>(
    `select format('PostgreSQL %s, TimescaleDB %s, shared_buffers %s, synchronous_commit %s', current_setting('server_version'),
      (select extversion from pg_extension where extname = 'timescaledb'), current_setting('shared_buffers'),
      current_setting('synchronous_commit')) as description`,
  );
  return rows[0]?.description ?? '';
}

async function describeRedis(redis: Redis): Promise<string> {
  const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? 'unknown';
  const setting = await redis.config('GET', 'appendfsync').catch(() => []);
  const fsync = Array.isArray(setting) ? (setting[1] ?? 'unknown') : 'unknown';
  return `version ${version}, appendfsync ${fsync}`;
}

async function openEngines(profile: string, onStop: Engines['onStop']): Promise<Engines> {
  const { DATABASE_URL: serverUrl, REDIS_URL: givenRedisUrl } = readConfig();
  const directory = await mkdtemp(join(tmpdir(), 'odograph-bench-'));
  onStop('directory', () => rm(directory, { recursive: true, force: true }));
  const server = await startEngine('TimescaleDB', serverUrl, directory);
  onStop('TimescaleDB', server.stop);
  const databaseUrl = serverUrl === undefined ? server.url : await createDatabase(serverUrl, onStop);
  const { url: redisUrl, stop } = await startEngine('Redis', givenRedisUrl, directory);
  onStop('Redis', stop);
  await migrate(databaseUrl);
  const pool = createPool({ url: databaseUrl, name: 'bench', size: 4 });
  onStop('database connections', () => pool.end());
  const queuePrefix = `odograph-bench-${process.pid}`;
  const redis = connectRedis(redisUrl, createLogger('silent'));
  await once(redis, 'ready');
  onStop('Redis keys', async () => {
    await removeKeys(redis, queuePrefix);
    redis.disconnect();
  });
  return {
    ...{ databaseUrl, redisUrl, pool, queuePrefix, directory, profile, onStop },
    database: `${serverUrl === undefined ? 'embedded' : 'native'}, ${await describeDatabase(pool)}`,
    redis: `${givenRedisUrl === undefined ? 'embedded' : 'given'}, ${await describeRedis(redis)}`,
  };
}

/** Runs a benchmark on given or embedded engines and cleans up, also when it fails or is interrupted. */
export async function withEngines(profile: string, work: (engines: Engines) => Promise<void>): Promise<void> {
  const hooks = new ShutdownHooks(createLogger('error'));
  const interrupted = (): void => {
    void hooks.run().finally(() => process.exit(130));
  };
  process.once('SIGINT', interrupted);
  process.once('SIGTERM', interrupted);
  try {
    await work(await openEngines(profile, hooks.add.bind(hooks)));
  } finally {
    await hooks.run();
    process.off('SIGINT', interrupted);
    process.off('SIGTERM', interrupted);
  }
}
