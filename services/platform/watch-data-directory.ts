import type { Config } from '@odograph/runtime/config';
import type { RunningService, ServiceHost } from '@odograph/runtime/service';
import { checkDataDirectory } from './start-checks.ts';

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
