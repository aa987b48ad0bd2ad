import { constants, setPriority } from 'node:os';
import type { Logger } from '@odograph/runtime/logger';
import type { Service } from '@odograph/runtime/service';

/**
 * Lowers the priority of a process whose services all give way (`nice` 10 on POSIX systems): where cores are scarce, an upload
 * is acknowledged before others are stored. A system that forbids it is told of in the log, and nothing else changes.
 */
export function giveWay<Http>(services: readonly Service<Http>[], logger: Logger): void {
  if (!services.every(({ givesWay }) => givesWay)) return;
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    logger.warn({ err: error }, 'the priority of this process stays as it is');
  }
}
