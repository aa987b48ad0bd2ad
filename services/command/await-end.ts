import type { Database } from '@odograph/database/database';
import type { Logger } from '@odograph/runtime/logger';
import type { CommandEvents, Watch } from './command-events.ts';
import type { CommandPublisher } from './command-publisher.ts';
import type { Deadline } from './deadline.ts';
import { endCommand, findCommand } from './queries.ts';
import { hasEnded, type Outcome } from './rules.ts';

/** What the command path works with. */
export interface CommandPath {
  readonly db: Database;
  readonly events: CommandEvents;
  readonly publisher: CommandPublisher;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  /** Whether the device has a live session; throws when that cannot be told. */
  isPresent(deviceId: string): Promise<boolean>;
}

/** Announcements can be lost, so whoever waits looks at the row this often. */
export const pollMs = 500;

/** Waits for the end of a command on its way, and ends it at the deadline. */
export async function awaitEnd(path: CommandPath, id: string, watch: Watch, deadline: Deadline): Promise<Outcome> {
  for (;;) {
    const ended = watch.end();
    if (ended) return ended;
    const remainingMs = deadline.remainingMs();
    if (remainingMs === 0) return end(path, id);
    if (await watch.changed(Math.min(remainingMs, pollMs))) continue;
    const command = await findCommand(path.db, id).catch(() => undefined);
    if (command && hasEnded(command)) return command;
  }
}

/**
 * Ends a command that is still active: sent -> unknown, pending -> expired.
 * @param cause in the words of the answer's `reason`; left out when the time is over
 * @returns how it ended, by this or by what came before
 */
export async function end({ db, events, logger }: CommandPath, id: string, cause?: string): Promise<Outcome> {
  try {
    const ended = await endCommand(db, id, cause);
    if (ended) events.announce([ended]);
    return ended ?? (await findCommand(db, id)) ?? { state: 'unknown' };
  } catch (error) {
    // The sweep will end the row; what becomes of the command is not known here.
    logger.error({ err: error, commandId: id }, 'a command could not be ended');
    return { state: 'unknown', ...(cause === undefined ? {} : { cause }) };
  }
}
