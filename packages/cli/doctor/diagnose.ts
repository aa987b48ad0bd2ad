import type { Config } from '@odograph/runtime/config';
import { openEngines } from '../installation/engines.ts';
import { attempt, type Check, type ClockReading, checkSkew, ok } from './check.ts';
import { checkDatabase, checkRoles } from './database.ts';
import { checkCertificates, checkDisk, checkPlatform, checkTimeSync } from './host.ts';
import { checkQueues, checkRedis } from './redis.ts';

interface Examined {
  readonly checks: Check[];
  readonly clock: ClockReading;
  readonly dataDirectory: string | undefined;
}

const redisRemedy = 'start Redis, or correct REDIS_URL; if it exited, see its log (a full disk ends it)';

const isHere = (url: string) => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);

/** Checks an engine; keeps its clock and, on this host, the directory of its data. */
async function examine(group: string, remedy: string, url: string, run: () => Promise<Examined>) {
  let clock: ClockReading | undefined;
  let directory: string | undefined;
  const checks = await attempt(group, remedy, async () => {
    const examined = await run();
    clock = examined.clock;
    directory = isHere(url) ? examined.dataDirectory : undefined;
    return examined.checks;
  });
  const disk =
    directory === undefined
      ? []
      : await attempt(`disk of ${group}`, remedy, () => checkDisk(`disk of ${group}`, directory ?? ''));
  return { clock, checks: [...checks, ...disk] };
}

/** Checks everything that this host's settings reach. @param platformUrl where the platform answers */
export async function diagnose(config: Config, platformUrl: string): Promise<Check[]> {
  const engines = await openEngines(config);
  try {
    const database = await examine('database', 'start PostgreSQL, or correct DATABASE_URL', engines.databaseUrl, () =>
      checkDatabase(engines.databaseUrl, config),
    );
    const redis = await examine('Redis', redisRemedy, engines.redisUrl, () => checkRedis(engines.redisUrl));
    const skew = database.clock && redis.clock ? [checkSkew('clocks of the engines', database.clock, redis.clock)] : [];
    const groups = [
      attempt('backlog', redisRemedy, async () =>
        redis.clock === undefined ? [] : checkQueues(engines.redisUrl, config),
      ),
      checkRoles(config),
      attempt('clock of this host', 'see docs/operating.md, "Clocks"', checkTimeSync),
      attempt('disk space', 'correct DATA_DIR', () => checkDisk('disk space', config.DATA_DIR)),
      attempt('certificates', 'correct the settings that name certificates', () => checkCertificates(config)),
      attempt('platform', 'start the platform, or set ODOGRAPH_URL to its address', () => checkPlatform(platformUrl)),
    ];
    const others = (await Promise.all(groups)).flat();
    return [ok('settings', 'valid'), ...database.checks, ...redis.checks, ...skew, ...others];
  } finally {
    await engines.stop();
  }
}
