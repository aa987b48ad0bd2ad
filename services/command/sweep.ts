import type { Database } from '@odograph/database/database';
import { findBeyondDeadline } from './queries.ts';
import type { CommandContext } from './send-command.ts';
import { endCommand, endOverdueCommands } from './transitions.ts';

const intervalMs = 2000;
/** Twice the maximum of ACK_TIMEOUT_MS. */
const longestMs = 120_000;

/**
 * Finds commands that a database clock set back would keep active for too long: those that this process has seen active
 * for longer than any command may take, by its monotonic clock.
 * @returns a function to call regularly; resolves with the ids of the commands to end
 */
export function createStaleFinder(db: Database, nowMs: () => number = () => performance.now()) {
  let seenSinceMs = new Map<string, number>();
  return async (): Promise<string[]> => {
    const now = nowMs();
    const found = await findBeyondDeadline(db, longestMs);
    seenSinceMs = new Map(found.map((id) => [id, seenSinceMs.get(id) ?? now]));
    return found.filter((id) => now - (seenSinceMs.get(id) ?? now) > longestMs);
  };
}

/**
 * Ends overdue commands every two seconds: the process that waited for them has ended, and they must not be sent later.
 * @returns stops the sweep
 */
export function startSweep({ db, events, logger }: CommandContext): () => Promise<void> {
  const findStale = createStaleFinder(db);
  const sweep = async (): Promise<void> => {
    try {
      events.announce(await endOverdueCommands(db));
      for (const id of await findStale()) {
        const ended = await endCommand(db, id);
        if (ended) events.announce([ended]);
      }
    } catch (error) {
      logger.warn({ err: error }, 'overdue commands not ended');
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
