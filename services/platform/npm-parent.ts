import { startedByNpm } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';

const checkMs = 250;

/**
 * Stops this process when npm, which started it, has ended. A `kill` of `npm start` ends npm only, and a kill -9 gives npm no chance to
 * forward anything; without this the platform would keep its ports and data.
 */
export function stopWithNpm(logger: Logger): void {
  if (!startedByNpm()) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    logger.warn('npm has ended, stopping');
    process.kill(process.pid, 'SIGINT');
  }, checkMs);
  timer.unref();
}
