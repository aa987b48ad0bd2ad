import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, statfs } from 'node:fs/promises';
import { openDatabase } from '@odograph/database/database';
import { findDatabaseFaults } from '@odograph/database/installation';
import { findMissingMigrations } from '@odograph/database/migrate';
import { type Config, serviceDatabaseNames } from '@odograph/runtime/config';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { sql } from 'kysely';
import { command } from '../command.ts';
import { openEngines } from '../engines.ts';

/** One line of the diagnosis. */
export interface Check {
  check: string;
  result: 'ok' | 'warning' | 'fault';
  detail: string;
  /** How to mend what is not ok. */
  remedy?: string;
}

const dayMs = 86_400_000;
const certificateWarningDays = 30;
const largestClockDifferenceMs = 1000;
const leastFreeBytes = 1024 ** 3;
const leastFreeShare = 0.1;
const redisTimeoutMs = 5000;

const ok = (check: string, detail: string): Check => ({ check, result: 'ok', detail });
const warning = (check: string, detail: string, remedy: string): Check => ({
  check,
  result: 'warning',
  detail,
  remedy,
});
const fault = (check: string, detail: string, remedy: string): Check => ({ check, result: 'fault', detail, remedy });

/** Compares a clock with that of this host, which was read before and after it. */
export function checkClock(check: string, clockMs: number, beforeMs: number, afterMs: number): Check {
  const differenceMs = Math.max(beforeMs - clockMs, clockMs - afterMs, 0);
  const detail = `${Math.round(differenceMs)} ms from this host`;
  return differenceMs > largestClockDifferenceMs
    ? fault(check, detail, 'synchronize both hosts by NTP')
    : ok(check, detail);
}

/** Checks the end of a PEM certificate. */
export function checkCertificate(check: string, pem: string, nowMs: number): Check {
  const days = Math.floor((new Date(new X509Certificate(pem).validTo).getTime() - nowMs) / dayMs);
  const remedy = `renew the file that ${check} names; it is read again without a restart`;
  if (days < 0) return fault(check, `expired ${-days} days ago`, remedy);
  return days < certificateWarningDays
    ? warning(check, `expires in ${days} days`, remedy)
    : ok(check, `expires in ${days} days`);
}

/** Checks that Redis keeps acknowledged uploads: on disk before the answer, and never evicted. */
export function checkRedisSettings(settings: Readonly<Record<string, string>>): Check[] {
  const wanted = { appendonly: 'yes', appendfsync: 'always', 'maxmemory-policy': 'noeviction' };
  return Object.entries(wanted).map(([name, value]) =>
    settings[name] === value
      ? ok(`Redis ${name}`, value)
      : fault(
          `Redis ${name}`,
          `is ${settings[name] ?? 'unknown'}: acknowledged uploads can be lost`,
          `set ${name} ${value} in the configuration of Redis, as in infra/redis.conf`,
        ),
  );
}

/** Checks that every migration is applied and that no restore lost a part. */
async function checkSchema(url: string): Promise<Check[]> {
  const missing = await findMissingMigrations(url);
  if (missing.length > 0) {
    const remedy = 'migrate as the owner of the tables (docs/operating.md, "Upgrade"), or start the platform';
    return [fault('migrations', `${missing.length} missing, first ${missing[0]}`, remedy)];
  }
  const lost = await findDatabaseFaults(url);
  return [
    ok('migrations', 'all applied'),
    lost.length === 0
      ? ok('completeness', 'nothing is missing')
      : fault('completeness', lost.join('; '), 'restore again (docs/operating.md, "Back up and restore")'),
  ];
}

async function checkDatabase(url: string): Promise<Check[]> {
  const db = openDatabase({ url, name: 'doctor', size: 1 });
  try {
    const beforeMs = Date.now();
    const { rows } = await sql<{ postgres: string; timescale: string | null; now_ms: number }>`
      select current_setting('server_version') as postgres,
        (select extversion from pg_extension where extname = 'timescaledb') as timescale,
        extract(epoch from clock_timestamp())::double precision * 1000 as now_ms`.execute(db);
    const afterMs = Date.now();
    const [row] = rows;
    if (!row) throw new Error('no answer');
    return [
      ok('database', `PostgreSQL ${row.postgres}`),
      row.timescale === null
        ? fault('TimescaleDB', 'not installed', 'install the extension, then migrate')
        : ok('TimescaleDB', row.timescale),
      checkClock('database clock', row.now_ms, beforeMs, afterMs),
      ...(await checkSchema(url)),
    ];
  } finally {
    await db.destroy();
  }
}

async function checkRedis(url: string): Promise<Check[]> {
  const redis = connectRedis(url, createLogger('silent'));
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) });
    const beforeMs = Date.now();
    const [seconds, microseconds] = await redis.time();
    const afterMs = Date.now();
    const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
    const settings: Record<string, string> = {};
    for (const name of ['appendonly', 'appendfsync', 'maxmemory-policy']) {
      const [, value] = (await redis.config('GET', name)) as string[];
      if (value !== undefined) settings[name] = value;
    }
    const clockMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
    return [
      ok('Redis', version),
      ...checkRedisSettings(settings),
      checkClock('Redis clock', clockMs, beforeMs, afterMs),
    ];
  } finally {
    redis.disconnect();
  }
}

/** Signs in as the database role of each service that has one. */
async function checkRoles(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [service, name] of Object.entries(serviceDatabaseNames)) {
    const url = config[name];
    if (url === undefined || url === config.DATABASE_URL) continue;
    const db = openDatabase({ url, name: 'doctor', size: 1 });
    const signedIn = sql<{ role: string }>`select current_user as role`.execute(db);
    const check = await signedIn.then(
      ({ rows }) => ok(`role of ${service}`, rows[0]?.role ?? ''),
      (error: unknown) =>
        fault(
          `role of ${service}`,
          error instanceof Error ? error.message : String(error),
          `correct ${name}, or run infra/database-roles.sql and infra/database-logins.sql`,
        ),
    );
    checks.push(check);
    await db.destroy();
  }
  return checks;
}

async function checkDisk(directory: string): Promise<Check[]> {
  const { bavail, blocks, bsize } = await statfs(directory);
  const free = bavail * bsize;
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free (${Math.round((100 * bavail) / blocks)} %) in ${directory}`;
  const isLow = free < leastFreeBytes || bavail / blocks < leastFreeShare;
  return [isLow ? warning('disk space', detail, 'free or add space, or set RETENTION_DAYS') : ok('disk space', detail)];
}

async function checkCertificates(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of ['MQTT_TLS_CERTIFICATE', 'MQTT_TLS_CLIENT_CA'] as const) {
    const path = config[name];
    if (path !== undefined) checks.push(checkCertificate(name, await readFile(path, 'utf8'), Date.now()));
  }
  return checks;
}

async function checkPlatform(config: Config): Promise<Check[]> {
  const host = ['0.0.0.0', '::'].includes(config.HTTP_HOST) ? '127.0.0.1' : config.HTTP_HOST;
  const url = config.ODOGRAPH_URL ?? `http://${host}:${config.HTTP_PORT}`;
  const response = await fetch(`${url}/health`);
  const body = await response.text();
  return [
    response.ok
      ? ok('platform', `healthy at ${url}`)
      : fault('platform', body, 'see the log of the service that is not ok'),
  ];
}

/** Runs one group of checks; its failure becomes a fault of that group and does not hide the others. */
async function attempt(group: string, remedy: string, run: () => Promise<Check[]>): Promise<Check[]> {
  return run().catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [fault(group, cause instanceof Error ? cause.message || cause.name : String(cause), remedy)];
  });
}

async function diagnose(config: Config): Promise<Check[]> {
  const checks = [ok('settings', 'valid')];
  const engines = await openEngines(config);
  try {
    const groups = [
      attempt('database', 'start PostgreSQL, or correct DATABASE_URL', () => checkDatabase(engines.databaseUrl)),
      attempt('Redis', 'start Redis, or correct REDIS_URL', () => checkRedis(engines.redisUrl)),
      checkRoles(config),
      attempt('disk space', 'correct DATA_DIR', () => checkDisk(config.DATA_DIR)),
      attempt('certificates', 'correct MQTT_TLS_CERTIFICATE and MQTT_TLS_CLIENT_CA', () => checkCertificates(config)),
      attempt('platform', 'start the platform, or set ODOGRAPH_URL to its address', () => checkPlatform(config)),
    ];
    for (const group of groups) checks.push(...(await group));
    return checks;
  } finally {
    await engines.stop();
  }
}

/** Diagnosis of a deployment. */
export const doctorCommands = [
  command({
    name: 'doctor',
    summary:
      'check engines, settings, clocks, disk, database roles and certificates; exits with 1 when one has a fault',
    async run({ config }) {
      const checks = await diagnose(config);
      if (checks.some(({ result }) => result === 'fault')) process.exitCode = 1;
      return checks;
    },
    format: (checks) =>
      (checks as Check[])
        .map(
          ({ check, result, detail, remedy }) =>
            `${result.toUpperCase().padEnd(8)}${check.padEnd(26)}${detail}${remedy ? `; ${remedy}` : ''}\n`,
        )
        .join(''),
  }),
];
