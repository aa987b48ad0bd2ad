import type { Config } from '@odograph/runtime/config';
import { Gauge } from '@odograph/runtime/metrics';
import { connectRedis } from '@odograph/runtime/redis';
import type { RunningService, ServiceHealth, ServiceHost } from '@odograph/runtime/service';
import { checkDataDirectory, readRedisFaults } from './start-checks.ts';

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

/**
 * Watches the data directory while the platform runs: a disk that is full or read-only is logged once, and a failure in
 * /health, beside the failures that it causes elsewhere. @param config the settings as given, without embedded engines
 */
export function watchDataDirectory(
  { logger, onStop }: Pick<ServiceHost, 'logger' | 'onStop'>,
  config: Config,
  checkMs = 10_000,
): RunningService {
  let fault: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const check = async (): Promise<void> => {
    const found = await checkDataDirectory(config).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (isStopped) return;
    if (found !== undefined && found !== fault) logger.error({ directory: config.DATA_DIR }, found);
    if (found === undefined && fault !== undefined)
      logger.info({ directory: config.DATA_DIR }, 'data directory writable');
    fault = found;
    timer = setTimeout(() => void check(), checkMs);
  };
  timer = setTimeout(() => void check(), checkMs);
  onStop('watch of the data directory', () => {
    isStopped = true;
    clearTimeout(timer);
  });
  return { health: () => ({ ok: fault === undefined, state: fault ?? 'writable' }) };
}
