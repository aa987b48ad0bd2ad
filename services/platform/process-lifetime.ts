import type { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { startedByNpm } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';

const checkMs = 250;

/** Name and parent of a process (proc(5), /proc/pid/stat, fields 2 and 4); undefined where there is no /proc. */
function readProcess(pid: number): { name: string; parent: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = text.lastIndexOf(')');
    return { name: text.slice(text.indexOf('(') + 1, end), parent: text.slice(end + 2).split(' ')[1] ?? '' };
  } catch {
    return undefined;
  }
}

/** Identifies npm: the parent of this process, or of the shell in between, which some shells replace by the command. */
function findNpm(): string {
  const parent = readProcess(process.ppid);
  return parent !== undefined && /^(ba|da)?sh$/.test(parent.name) ? parent.parent : String(process.ppid);
}

/**
 * Stops this process when its parent npm has exited. A `kill` of `npm start` ends npm only, and after `kill -9` npm forwards
 * no signal; the platform would keep its ports and data directory.
 */
export function stopWithNpm(logger: Logger): void {
  if (!startedByNpm()) return;
  const npm = findNpm();
  const timer = setInterval(() => {
    if (findNpm() === npm) return;
    clearInterval(timer);
    logger.warn('npm has exited; stopping');
    process.kill(process.pid, 'SIGINT');
  }, checkMs);
  timer.unref();
}

/**
 * Logs unhandled errors instead of ending the process: `npm start` restarts nothing, so one client that triggers a defect
 * in an event handler or a timer would stop the service for all others.
 */
export function logUnhandledErrors(logger: Logger, source: EventEmitter = process): void {
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    source.on(event, (error: unknown) => logger.error({ err: error, event }, 'unhandled error'));
  }
}
