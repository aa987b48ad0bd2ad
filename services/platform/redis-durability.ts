import { Gauge } from '@odograph/runtime/metrics';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import type { RunningService, ServiceHealth, ServiceHost } from '@odograph/runtime/service';

/** Settings without which Redis can lose an upload after its PUBACK (infra/redis.conf). */
const required: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'maxmemory-policy': 'noeviction',
};

/** Lists the settings of Redis that can lose acknowledged uploads, as `name is value`; none where CONFIG is forbidden. */
export async function readRedisFaults(redis: Redis): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, wanted] of Object.entries(required)) {
    const answer: unknown = await redis.config('GET', name).catch((error: unknown) => {
      if (error instanceof Error && /NOPERM|unknown command/i.test(error.message)) return [];
      throw error;
    });
    const value: unknown = Array.isArray(answer) ? answer[1] : undefined;
    if (typeof value === 'string' && value !== wanted) faults.push(`${name} is ${value} instead of ${wanted}`);
  }
  return faults;
}

type Host = Pick<ServiceHost, 'config' | 'logger' | 'metrics' | 'onStop'>;

/**
 * Watches Redis for settings that can lose acknowledged uploads: checked every 10 s, logged at each change, in the metric
 * `odograph_redis_durable`, and a failure in /health unless REDIS_ALLOW_DATA_LOSS permits it.
 */
export function watchRedisDurability({ config, logger, metrics, onStop }: Host, checkMs = 10_000): RunningService {
  const redis = connectRedis(config.REDIS_URL, logger);
  const gauge = new Gauge({
    name: 'odograph_redis_durable',
    help: '1 while the settings of Redis keep every acknowledged upload, otherwise 0',
    registers: [metrics],
  });
  let faults: string[] = [];
  let logged = '';
  const check = async (): Promise<void> => {
    if (redis.status !== 'ready') return;
    faults = config.REDIS_IS_DURABLE ? await readRedisFaults(redis) : ['it runs in memory'];
    gauge.set(faults.length === 0 ? 1 : 0);
    const fact = faults.join(', ');
    if (fact !== logged && fact !== '') logger.warn({ faults }, 'Redis can lose acknowledged uploads');
    logged = fact;
  };
  const checkLogged = (): void => {
    check().catch((error: unknown) => logger.warn({ err: error }, 'settings of Redis not readable'));
  };
  redis.on('ready', checkLogged);
  const timer = setInterval(checkLogged, checkMs);
  onStop('watch of Redis', () => {
    clearInterval(timer);
    redis.disconnect();
  });
  return {
    health(): ServiceHealth {
      if (redis.status !== 'ready')
        return { ok: false, state: 'Redis is unreachable; if it exited, see its log (a full disk ends it)' };
      if (faults.length === 0) return { ok: true, state: 'durable' };
      const state = `can lose acknowledged uploads: ${faults.join(', ')}`;
      return { ok: !config.REDIS_IS_DURABLE || config.REDIS_ALLOW_DATA_LOSS, state };
    },
  };
}
