import { once } from 'node:events';
import { openQueue } from '@odograph/queue/queues';
import { countUploadJobs } from '@odograph/queue/shards';
import type { Config } from '@odograph/runtime/config';
import { limits } from '@odograph/runtime/limits';
import { createLogger } from '@odograph/runtime/logger';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import { type Check, type ClockReading, checkClock, expectThat, fault, isOlder, ok, warning } from './check.ts';

const redisTimeoutMs = 5000;
const oldestRedis = [6, 2] as const;
/** Tasks are due each hour at most; one that is late by more than this has no worker. */
const latestTaskMs = 600_000;

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

/** Checks what `INFO memory` and `INFO persistence` say. */
export function checkRedisState(info: string): Check[] {
  const numberOf = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const [used, limit] = [numberOf('used_memory'), numberOf('maxmemory')];
  const mib = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`;
  const lastWrite = /^aof_last_write_status:(\S+)/m.exec(info)?.[1] ?? 'ok';
  return [
    limit === 0
      ? warning('Redis maxmemory', `no limit, ${mib(used)} used`, 'set maxmemory below the memory of the host')
      : used < limit * 0.75
        ? ok('Redis maxmemory', `${mib(used)} of ${mib(limit)} used`)
        : fault(
            'Redis maxmemory',
            `${mib(used)} of ${mib(limit)} used`,
            'check that ingest is running, or increase maxmemory',
          ),
    expectThat(
      lastWrite === 'ok',
      'Redis log on disk',
      lastWrite === 'ok' ? 'written' : `the last write failed (${lastWrite})`,
      'see the log of Redis; free space on its disk',
    ),
  ];
}

async function readClock(redis: Redis): Promise<ClockReading> {
  const beforeMs = Date.now();
  const [seconds, microseconds] = await redis.time();
  return { clockMs: Number(seconds) * 1000 + Number(microseconds) / 1000, beforeMs, afterMs: Date.now() };
}

async function readSettings(redis: Redis): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const name of ['appendonly', 'appendfsync', 'maxmemory-policy', 'dir']) {
    const [, value] = (await redis.config('GET', name)) as string[];
    if (value !== undefined) settings[name] = value;
  }
  return settings;
}

/** Checks Redis. @returns the checks, its clock and where its files are */
export async function checkRedis(
  url: string,
): Promise<{ checks: Check[]; clock: ClockReading; dataDirectory: string | undefined }> {
  const redis = connectRedis(url, createLogger('silent'));
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(redisTimeoutMs) });
    const clock = await readClock(redis);
    const version = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? '0';
    const { dir, ...settings } = await readSettings(redis);
    return {
      checks: [
        expectThat(
          !isOlder(version, oldestRedis),
          'Redis',
          version,
          `upgrade Redis to ${oldestRedis.join('.')} or newer`,
        ),
        ...checkRedisSettings(settings),
        ...checkRedisState(`${await redis.info('memory')}\n${await redis.info('persistence')}`),
        checkClock('Redis clock', clock),
      ],
      clock,
      dataDirectory: dir,
    };
  } finally {
    redis.disconnect();
  }
}

/** A task that the queue repeats, with the time at which it is due next. */
interface Schedule {
  readonly name: string;
  readonly dueMs: number;
}

/** Checks that tasks such as retention and compression run when they are due. */
export function checkSchedules(schedules: readonly Schedule[], failed: number, nowMs: number): Check {
  const late = schedules.filter(({ dueMs }) => nowMs - dueMs > latestTaskMs).map(({ name }) => name);
  const check = 'maintenance';
  if (schedules.length === 0)
    return warning(check, 'never scheduled', 'start ingest, which retains and compresses data');
  if (late.length > 0) return fault(check, `overdue: ${late.join(', ')}`, 'start ingest, or see its log');
  return failed === 0
    ? ok(check, `${schedules.map(({ name }) => name).join(', ')} run when due`)
    : warning(check, `${failed} tasks failed`, 'see "maintenance failed" in the log of ingest');
}

/** Checks the backlog of uploads and the tasks of maintenance. */
export async function checkQueues(redisUrl: string, config: Config): Promise<Check[]> {
  const jobs = await countUploadJobs({ ...config, REDIS_URL: redisUrl }, createLogger('silent'));
  const maintenance = openQueue('maintenance', { redisUrl, prefix: config.QUEUE_PREFIX });
  try {
    await maintenance.waitUntilReady();
    const schedules = await maintenance.getJobSchedulers();
    const due = schedules.map(({ key, next = Date.now() }) => ({ name: key, dueMs: next }));
    const detail = `${jobs} of ${limits.maxBacklogJobs} jobs`;
    return [
      jobs <= limits.maxBacklogJobs / 2
        ? ok('backlog', detail)
        : warning('backlog', detail, 'check that ingest is running and keeps up (docs/performance.md)'),
      checkSchedules(due, await maintenance.getFailedCount(), Date.now()),
    ];
  } finally {
    await maintenance.close();
  }
}
