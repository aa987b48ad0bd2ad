import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import type { CommandEvents } from './command-events.ts';
import { endCommand, endOverdueCommands, findBeyond } from './queries.ts';

const intervalMs = 2000;
/** Twice what ACK_TIMEOUT_MS can be. */
const longestMs = 120_000;

/**
 * Finds the commands whose time the database's clock took away, by being set back: they are over when this process has
 * seen them under way for longer than any command may be.
 * @returns looks for them; resolves with those to end
 */
export function createOutlivedFinder(db: Database, nowMs: () => number = () => performance.now()) {
  let seenSinceMs = new Map<string, number>();
  return async (): Promise<string[]> => {
    const now = nowMs();
    const found = await findBeyond(db, longestMs);
    seenSinceMs = new Map(found.map((id) => [id, seenSinceMs.get(id) ?? now]));
    return found.filter((id) => now - (seenSinceMs.get(id) ?? now) > longestMs);
  };
}

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
  const findOutlived = createOutlivedFinder(db);
  const sweep = async (): Promise<void> => {
    try {
      events.announce(await endOverdueCommands(db));
      for (const id of await findOutlived()) {
        const ended = await endCommand(db, id);
        if (ended) events.announce([ended]);
      }
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
