import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { acknowledgementsChannel } from '@odograph/contracts/queues';
import type { ChangeAnnouncer } from '@odograph/runtime/change-announcer';
import { connectRedis, type Redis } from '@odograph/runtime/redis';
import type { ServiceHost } from '@odograph/runtime/service';
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
  /** Tests whether a request of this process watches a command. */
  isWatched(commandId: string): boolean;
  /** Calls `listener` with each acknowledgement that a broker or gateway publishes, before its job is processed. */
  onAcknowledgement(listener: (text: string) => void): void;
  close(): void;
}

/** @param commandId the watched command */
function createWatch(commandId: string) {
  let ended: CommandEnd | undefined;
  let isNotified = false;
  let wake: (() => void) | undefined;
  return {
    end: () => ended,
    async changed(timeoutMs: number): Promise<boolean> {
      if (!isNotified) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      const wasNotified = isNotified;
      isNotified = false;
      return wasNotified;
    },
    notify(end: CommandEnd): void {
      if (end.id === commandId) ended = end;
      else if (end.nextId !== undefined && end.nextId !== commandId) return;
      isNotified = true;
      wake?.();
    },
  };
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
 * Opens the announcements of commands; the caller closes the subscription.
 *
 * Requests are woken through a separate channel rather than the stream of changes: Redis writes the stream to disk in
 * groups of 50 ms, and its readers receive the changes of every vehicle.
 * @param redis publishes, besides other commands
 * @param changes announces the commands to the live stream as well
 */
export function openCommandEvents(
  redis: Redis,
  { config, logger }: Pick<ServiceHost<unknown>, 'config' | 'logger'>,
  changes: Pick<ChangeAnnouncer, 'announceSoon'>,
): CommandEvents {
  const channel = `${config.QUEUE_PREFIX}:commands`;
  const acknowledgements = acknowledgementsChannel(config.QUEUE_PREFIX);
  const origin = randomUUID();
  const watched = new Set<string>();
  /** Emits the ends of commands by vehicle id. */
  const ends = new EventEmitter().setMaxListeners(0);
  const notify = (end: CommandEnd) => ends.emit(String(end.vehicleId), end);

  const subscriber = connectRedis(config.REDIS_URL, logger);
  subscriber.on('ready', () => {
    subscriber
      .subscribe(channel, acknowledgements)
      .catch((error: unknown) => logger.warn({ err: error }, 'subscription to command announcements failed; polling'));
  });
  subscriber.on('message', (from: string, text: string) => {
    const end = from === channel ? parseEnd(text, origin) : undefined;
    if (end) notify(end);
  });

  return {
    announce(ended) {
      changes.announceSoon({ commandIds: ended.map(({ id }) => id) });
      for (const end of ended) {
        notify(end);
        const { id, vehicleId, state, cause, status, reason, nextId } = end;
        redis
          .publish(channel, JSON.stringify({ origin, id, vehicleId, state, cause, status, reason, nextId }))
          .catch((error: unknown) => logger.debug({ err: error }, 'end of a command not announced'));
      }
    },
    watch(vehicleId, commandId) {
      const { notify: listener, ...watch } = createWatch(commandId);
      ends.on(String(vehicleId), listener);
      watched.add(commandId);
      return {
        ...watch,
        stop() {
          ends.off(String(vehicleId), listener);
          watched.delete(commandId);
        },
      };
    },
    isWatched: (commandId) => watched.has(commandId),
    onAcknowledgement(listener) {
      subscriber.on('message', (from: string, text: string) => {
        if (from === acknowledgements) listener(text);
      });
    },
    close: () => subscriber.disconnect(),
  };
}
