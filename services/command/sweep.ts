import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import type { CommandEvents } from './command-events.ts';
import { endOverdueCommands } from './queries.ts';

const intervalMs = 2000;

/**
 * Ends, every two seconds, the commands that outlived their time because the process that waited for them is gone.
 * They are never sent later.
 * @returns what stops it
 */
export function startSweep({
  db,
  events,
  logger,
}: {
  db: Database;
  events: CommandEvents;
  logger: Logger;
}): () => Promise<void> {
  const sweep = async (): Promise<void> => {
    try {
      events.announce(await endOverdueCommands(db));
    } catch (error) {
      logger.debug({ err: error }, 'overdue commands could not be ended');
    }
  };
  let running = sweep();
  const timer = setInterval(() => {
    running = running.then(sweep);
  }, intervalMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
