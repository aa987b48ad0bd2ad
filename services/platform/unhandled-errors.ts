import type { EventEmitter } from 'node:events';
import type { Logger } from '@odograph/runtime/logger';

/**
 * Logs unhandled errors instead of ending the process: `npm start` restarts nothing, so one client that triggers a defect
 * in an event handler or a timer would stop the service for all others.
 */
export function logUnhandledErrors(logger: Logger, source: EventEmitter = process): void {
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    source.on(event, (error: unknown) => logger.error({ err: error, event }, 'unhandled error'));
  }
}
