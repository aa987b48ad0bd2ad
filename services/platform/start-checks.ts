import { existsSync } from 'node:fs';
import { access, constants, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { assignCell } from '@odograph/database/installation';
import { type MigrateOptions, migrate, UnsupportedDatabase } from '@odograph/database/migrate';
import { createPool } from '@odograph/database/pool';
import { sqlState } from '@odograph/database/postgres-failure';
import type { Config } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { messageOf } from '@odograph/runtime/message-of';
import { askPrimaries, connectRedis, type Redis, type Server } from '@odograph/runtime/redis';
import { describeRedis, redisServers } from '@odograph/runtime/redis-url';
import { serviceDatabaseNames } from '@odograph/runtime/settings';

/** A reason not to start, in one line that names the setting to change. */
export class StartFailure extends Error {
  constructor(setting: string, fact: string) {
    super(`${setting}: ${fact}`);
    this.name = 'StartFailure';
  }
}

/** Oldest supported versions. */
const oldestPostgres = 15;
const oldestTimescale = [2, 14] as const;
const oldestRedis = [6, 2] as const;
/** An engine that starts at the same time gets this long to answer. */
const timeoutMs = 8000;
const retryMs = 300;

type Fault = { code?: string; message: string };

const faultOf = (error: unknown): Fault => {
  // A name with several addresses fails with one error for each.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first : { message: String(first) };
};

/** Unreachable or starting up (PostgreSQL, Appendix A: class 57P, 53300 too_many_connections). */
const isTemporary = ({ code = '', message }: Fault): boolean =>
  /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|57P0\d|53300)$/.test(code) ||
  /timeout|terminated|LOADING|Connection is closed/i.test(message);

/** Host and port of an engine; never its password. */
function addressOf(url: string, defaultPort: number): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port || defaultPort}`;
}

/** Retries until success, a permanent fault, or the timeout. */
async function retryUntil<T>(attempt: () => Promise<T>, withinMs: number): Promise<T> {
  for (const end = performance.now() + withinMs; ; await delay(retryMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof StartFailure || !isTemporary(faultOf(error)) || performance.now() > end) throw error;
    }
  }
}

const isOlder = (version: string, [major, minor]: readonly [number, number]): boolean => {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
};

export interface DatabaseFacts {
  postgres: string;
  timescale: string | null;
  preloaded: boolean;
}

async function readDatabase(url: string): Promise<DatabaseFacts> {
  const pool = createPool({ url, name: 'start', size: 1, statementTimeoutMs: 5000 });
  try {
    // The library registers the setting when it is preloaded; reading shared_preload_libraries needs a privilege. The embedded
    // engine loads the library itself.
    const { rows } = await pool.query<DatabaseFacts>(`select current_setting('server_version') as postgres,
      (select default_version from pg_available_extensions where name = 'timescaledb') as timescale,
      current_setting('timescaledb.disable_load', true) is not null or version() ~* 'emscripten|wasm' as preloaded`);
    if (rows[0] === undefined) throw new Error('no answer');
    return rows[0];
  } finally {
    await pool.end();
  }
}

function databaseFact({ code = '', message }: Fault, url: string): string {
  const where = `PostgreSQL at ${addressOf(url, 5432)}`;
  const { username, pathname } = new URL(url);
  if (code === '28P01' || code === '28000') return `${where} rejects user "${username}" or the password`;
  if (code === '3D000') return `${where} has no database "${pathname.slice(1)}"`;
  if (isTemporary({ code, message })) return `${where} is not reachable (${code || message})`;
  return `${where}: ${message}`;
}

/** Names the setting of the database that is migrated. */
export function migrationSetting({ MIGRATION_DATABASE_URL: url }: Config): 'MIGRATION_DATABASE_URL' | 'DATABASE_URL' {
  return url === undefined ? 'DATABASE_URL' : 'MIGRATION_DATABASE_URL';
}

/** Checks that a database answers, with TimescaleDB preloaded and in a supported version. @throws StartFailure */
export async function checkDatabase(setting: string, url: string, withinMs = timeoutMs): Promise<void> {
  const facts = await retryUntil(() => readDatabase(url), withinMs).catch((error: unknown) => {
    throw new StartFailure(setting, databaseFact(faultOf(error), url));
  });
  requireSupported(setting, `PostgreSQL at ${addressOf(url, 5432)}`, facts);
}

/** Checks a database for reads; it may be unavailable, because reads then go to another one. @throws StartFailure */
async function checkReadDatabase(setting: string, url: string): Promise<void> {
  const facts = await readDatabase(url).catch((error: unknown) => {
    const fault = faultOf(error);
    if (!isTemporary(fault)) throw new StartFailure(setting, databaseFact(fault, url));
  });
  if (facts !== undefined) requireSupported(setting, `PostgreSQL at ${addressOf(url, 5432)}`, facts);
}

/** @throws StartFailure for an old version, and without TimescaleDB */
export function requireSupported(
  setting: string,
  where: string,
  { postgres, timescale, preloaded }: DatabaseFacts,
): void {
  const refuse = (fact: string): never => {
    throw new StartFailure(setting, fact);
  };
  if (Number.parseInt(postgres, 10) < oldestPostgres) {
    refuse(`${where} has version ${postgres}; ${oldestPostgres} or newer is required`);
  }
  if (timescale === null) refuse(`${where} has no TimescaleDB; install the extension`);
  else if (isOlder(timescale, oldestTimescale)) {
    refuse(`TimescaleDB ${timescale} is too old; ${oldestTimescale.join('.')} or newer is required`);
  }
  if (!preloaded) refuse(`${where} does not preload TimescaleDB; add timescaledb to shared_preload_libraries`);
}

/**
 * Migrates the database that a setting names. @returns the names of the applied migrations
 * @throws StartFailure for a database that this version does not support
 */
export async function migrateDatabase(
  setting: string,
  url: string,
  onWait: NonNullable<MigrateOptions['onWait']>,
): Promise<string[]> {
  return migrate(url, { onWait }).catch((error: unknown) => {
    throw error instanceof UnsupportedDatabase ? new StartFailure(setting, error.message) : error;
  });
}

/** Gives an unused installation the number of its cell. @throws StartFailure for one in use that has another number */
export async function requireCell(url: string, cell: number): Promise<void> {
  await assignCell(url, cell).catch((error: unknown) => {
    if (sqlState(error) !== 'OD002') throw error;
    throw new StartFailure('CELL', messageOf(error));
  });
}

async function readRedis(url: string): Promise<{ version: string; faults: string[] }> {
  const redis = connectRedis(url, createLogger('silent'));
  try {
    await new Promise<void>((resolve, reject) => {
      redis.once('ready', resolve);
      redis.once('error', reject);
      setTimeout(() => reject(new Error('timeout')), 3000).unref();
    });
    const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? '0';
    return { version, faults: await readRedisFaults(redis) };
  } finally {
    redis.disconnect();
  }
}

function redisFact({ code = '', message }: Fault, url: string): string {
  const where = `Redis at ${describeRedis(url)}`;
  if (/WRONGPASS|NOAUTH|NOPERM/.test(message))
    return `${where} rejects the user or password (${message.split(' ')[0]})`;
  if (isTemporary({ code, message })) return `${where} is not reachable (${code || message})`;
  return `${where}: ${message}`;
}

/** Checks that Redis answers, is recent and keeps acknowledged uploads. @throws StartFailure */
export async function checkRedis({ REDIS_URL: urls, REDIS_ALLOW_DATA_LOSS }: Config): Promise<void> {
  if (urls === undefined) return;
  const checks = redisServers(urls).map((url) => checkServer(url, REDIS_ALLOW_DATA_LOSS));
  const results = await Promise.allSettled(checks);
  // With several servers, an unavailable one stops its own shards only.
  const [fatal = results[0]] = results.filter(
    (one) => one.status === 'rejected' && !(one.reason instanceof ServerUnavailable),
  );
  if (fatal?.status === 'rejected') throw fatal.reason;
}

class ServerUnavailable extends StartFailure {}

async function checkServer(url: string, allowsDataLoss: boolean): Promise<void> {
  const { version, faults } = await retryUntil(() => readRedis(url), timeoutMs).catch((error: unknown) => {
    const Failure = isTemporary(faultOf(error)) ? ServerUnavailable : StartFailure;
    throw new Failure('REDIS_URL', redisFact(faultOf(error), url));
  });
  if (isOlder(version, oldestRedis)) {
    throw new StartFailure('REDIS_URL', `Redis ${version} is too old; ${oldestRedis.join('.')} or newer is required`);
  }
  if (faults.length > 0 && !allowsDataLoss) {
    const fact = `Redis at ${describeRedis(url)} could lose acknowledged uploads: ${faults.join(', ')}`;
    throw new StartFailure('REDIS_URL', `${fact}; see infra/redis.conf, or set REDIS_ALLOW_DATA_LOSS=true`);
  }
}

/** Finds out why a directory cannot be created with its parents, for which Node.js reports ENOENT. */
async function faultOfParent(directory: string): Promise<Fault> {
  let parent = dirname(resolve(directory));
  while (!existsSync(parent)) parent = dirname(parent);
  const absent = { code: 'ENOENT', message: 'it does not exist' };
  return access(parent, constants.W_OK).then(() => absent, faultOf);
}

/** Checks that the data directory can be written, where something is kept in it. @throws StartFailure */
export async function checkDataDirectory(config: Config): Promise<void> {
  const { DATABASE_URL, REDIS_URL, ADMIN_TOKEN, ENCRYPTION_KEYS, DATA_DIR } = config;
  if (DATABASE_URL && REDIS_URL && ADMIN_TOKEN && ENCRYPTION_KEYS) return;
  const probe = join(DATA_DIR, `.write-check-${process.pid}`);
  try {
    await mkdir(DATA_DIR, { recursive: true, mode: 0o700 });
    const file = await open(probe, 'w', 0o600);
    try {
      await file.writeFile(Buffer.alloc(64 * 1024));
      await file.sync();
    } finally {
      await file.close();
      await rm(probe, { force: true });
    }
  } catch (error) {
    const fault = faultOf(error);
    const { code, message } = fault.code === 'ENOENT' ? await faultOfParent(DATA_DIR) : fault;
    const reasons: Record<string, string> = {
      EROFS: 'is on a read-only file system',
      EACCES: 'is not writable for this user',
      EPERM: 'is not writable for this user',
      ENOSPC: 'is on a full disk',
      EDQUOT: 'exceeds the disk quota',
      ENOTDIR: 'is not a directory',
      EEXIST: 'is not a directory',
    };
    throw new StartFailure('DATA_DIR', `${DATA_DIR} ${reasons[code ?? ''] ?? `cannot be used: ${message}`}`);
  }
}

/** Checks disk and given engines before anything opens. @throws StartFailure naming the setting to change */
export async function checkBeforeStart(config: Config, services: readonly string[]): Promise<void> {
  await checkDataDirectory(config);
  const ofServices = Object.entries(serviceDatabaseNames).filter(([service]) => services.includes(service));
  const settings = new Set(['MIGRATION_DATABASE_URL', 'DATABASE_URL', ...ofServices.map(([, name]) => name)] as const);
  const checks = [...settings].flatMap((name) => {
    const check = name === 'QUERY_DATABASE_URL' ? checkReadDatabase : checkDatabase;
    return (config[name]?.split(',') ?? []).map((url) => check(name, url));
  });
  const results = await Promise.allSettled([...checks, checkRedis(config)]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Names the setting of a port that could not be opened; undefined for another error. */
export function portFailure(error: unknown, config: Config): StartFailure | undefined {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  if (code !== 'EADDRINUSE' && code !== 'EACCES' && code !== 'EADDRNOTAVAIL') return undefined;
  const setting = (['HTTP_PORT', 'MQTT_PORT', 'MQTTS_PORT', 'TELTONIKA_PORT', 'TELTONIKA_TLS_PORT'] as const).find(
    (name) => config[name] === port,
  );
  if (setting === undefined) return undefined;
  const facts = {
    EADDRINUSE: 'is already in use; stop the other program or choose another port',
    EACCES: 'needs a privilege; choose a port above 1023',
    EADDRNOTAVAIL: 'is not on an address of this machine; change the host setting',
  };
  return new StartFailure(setting, `port ${port} of ${address} ${facts[code]}`);
}

/** Settings without which Redis can lose an upload after its PUBACK (infra/redis.conf). */
const requiredRedisSettings: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
};

/** Lists the settings of Redis that can lose acknowledged uploads, as `name is value`; none where CONFIG is forbidden. */
export async function readRedisFaults(redis: Redis): Promise<string[]> {
  return [...new Set((await askPrimaries(redis, readServerFaults)).flat())];
}

async function readServerFaults(redis: Server): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, wanted] of Object.entries(requiredRedisSettings)) {
    const answer: unknown = await redis.config('GET', name).catch((error: unknown) => {
      if (error instanceof Error && /NOPERM|unknown command/i.test(error.message)) return [];
      throw error;
    });
    const value: unknown = Array.isArray(answer) ? answer[1] : undefined;
    if (typeof value === 'string' && value !== wanted) faults.push(`${name} is ${value} instead of ${wanted}`);
  }
  return faults;
}
