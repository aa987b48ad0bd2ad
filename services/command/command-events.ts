import { randomUUID } from 'node:crypto';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { hasEnded, type Outcome } from './rules.ts';

/** The end of a command, or its correction by a late acknowledgement, as announced to every replica. */
export interface CommandEnd extends Outcome {
  readonly id: string;
  readonly vehicleId: number;
  /** The next command of the vehicle; without it every waiting command checks its own turn. */
  readonly nextId?: string;
}

/** Waits for the end of one command, and for its turn among the commands of its vehicle. */
export interface Watch {
  /** The end of the command, once announced. */
  end(): CommandEnd | undefined;
  /**
   * Resolves when the command has ended or its turn may have come since the last call, or after `milliseconds`.
   * @returns false after the timeout
   */
  changed(milliseconds: number): Promise<boolean>;
  stop(): void;
}

/**
 * Announces the ends of commands to the requests that wait for them, here and, through Redis, at other replicas. An
 * announcement can be lost, so waiting requests poll as well.
 */
export interface CommandEvents {
  announce(ends: readonly CommandEnd[]): void;
  /** Starts a watch; call it before the command can end. */
  watch(vehicleId: number, commandId: string): Watch;
  close(): Promise<void>;
}

interface Watcher {
  readonly watch: Watch;
  notify(end: CommandEnd): void;
}

function createWatcher(commandId: string, stop: () => void): Watcher {
  let ended: CommandEnd | undefined;
  let isNotified = false;
  let wake: (() => void) | undefined;
  const changed = async (milliseconds: number): Promise<boolean> => {
    if (!isNotified) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const wasNotified = isNotified;
    isNotified = false;
    return wasNotified;
  };
  return {
    watch: { end: () => ended, changed, stop },
    notify(end) {
      if (end.id === commandId) ended = end;
      else if (end.nextId !== undefined && end.nextId !== commandId) return;
      isNotified = true;
      wake?.();
    },
  };
}

type WatchersBy<Key> = Map<Key, Set<Watcher>>;

function add<Key>(watchers: WatchersBy<Key>, key: Key, watcher: Watcher): void {
  const ofKey = watchers.get(key);
  if (ofKey) ofKey.add(watcher);
  else watchers.set(key, new Set([watcher]));
}

function remove<Key>(watchers: WatchersBy<Key>, key: Key, watcher: Watcher): void {
  const ofKey = watchers.get(key);
  ofKey?.delete(watcher);
  if (ofKey?.size === 0) watchers.delete(key);
}

/** Parses the announcement of another replica; undefined for anything else. */
function parseEnd(text: string, ownOrigin: string): CommandEnd | undefined {
  try {
    const { origin, ...end } = JSON.parse(text) as CommandEnd & { origin?: string };
    if (origin === ownOrigin) return undefined;
    return typeof end.id === 'string' && typeof end.vehicleId === 'number' && hasEnded(end) ? end : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Opens one Redis connection to publish and one to subscribe; the caller closes them.
 * @param changes announces the commands to the live stream as well
 */
export function openCommandEvents(
  { redisUrl, prefix, logger }: { redisUrl: string; prefix: string; logger: Logger },
  changes: Pick<ChangeAnnouncer, 'announceSoon'>,
): CommandEvents {
  const channel = `${prefix}:commands`;
  const origin = randomUUID();
  const publisher = connectRedis(redisUrl, logger);
  const subscriber = connectRedis(redisUrl, logger);
  const byVehicle: WatchersBy<number> = new Map();
  const notify = (end: CommandEnd): void => {
    for (const watcher of byVehicle.get(end.vehicleId) ?? []) watcher.notify(end);
  };

  subscriber.on('ready', () => {
    subscriber
      .subscribe(channel)
      .catch((error: unknown) => logger.warn({ err: error }, 'subscription to command announcements failed; polling'));
  });
  subscriber.on('message', (_channel: string, text: string) => {
    const end = parseEnd(text, origin);
    if (end) notify(end);
  });

  return {
    announce(ends) {
      changes.announceSoon({ commandIds: ends.map(({ id }) => id) });
      for (const end of ends) {
        notify(end);
        const { id, vehicleId, state, cause, status, reason, nextId } = end;
        const text = JSON.stringify({ origin, id, vehicleId, state, cause, status, reason, nextId });
        publisher
          .publish(channel, text)
          .catch((error: unknown) => logger.debug({ err: error }, 'end of a command not announced'));
      }
    },
    watch(vehicleId, commandId) {
      const watcher = createWatcher(commandId, () => {
        remove(byVehicle, vehicleId, watcher);
      });
      add(byVehicle, vehicleId, watcher);
      return watcher.watch;
    },
    async close() {
      subscriber.disconnect();
      publisher.disconnect();
    },
  };
}
