import { randomUUID } from 'node:crypto';
import type { Logger } from '@odograph/runtime/logger';
import { connectRedis } from '@odograph/runtime/redis';
import { hasEnded, type Outcome } from './rules.ts';

/** The end of a command, or its correction by a late acknowledgement, as every replica hears it. */
export interface CommandEnd extends Outcome {
  readonly id: string;
  readonly vehicleId: number;
  /** The one command whose turn it is now; without it each that waits looks for itself. */
  readonly nextId?: string;
}

/** Waits for what happens to one command and to the vehicle whose turn it waits for. */
export interface Watch {
  /** The end of the command, once it was heard. */
  end(): CommandEnd | undefined;
  /**
   * Resolves when the command ended or its turn may have come since the last call, or after `milliseconds`.
   * @returns whether something was heard
   */
  changed(milliseconds: number): Promise<boolean>;
  stop(): void;
}

/** Tells the ends of commands to who waits here, and over Redis to the other replicas. What is lost on the way is found by the waiting one's poll. */
export interface CommandEvents {
  announce(ends: readonly CommandEnd[]): void;
  /** Watches from now on; to be called before the command can end. */
  watch(vehicleId: number, commandId: string): Watch;
  close(): Promise<void>;
}

interface Watcher {
  readonly watch: Watch;
  hear(end: CommandEnd): void;
}

function createWatcher(commandId: string, stop: () => void): Watcher {
  let ended: CommandEnd | undefined;
  let heard = false;
  let wake: (() => void) | undefined;
  const changed = async (milliseconds: number): Promise<boolean> => {
    if (!heard) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const was = heard;
    heard = false;
    return was;
  };
  return {
    watch: { end: () => ended, changed, stop },
    hear(end) {
      if (end.id === commandId) ended = end;
      else if (end.nextId !== undefined && end.nextId !== commandId) return;
      heard = true;
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

/** What another replica announced; undefined for anything else. */
function parseEnd(text: string, ownOrigin: string): CommandEnd | undefined {
  try {
    const { origin, ...end } = JSON.parse(text) as CommandEnd & { origin?: string };
    if (origin === ownOrigin) return undefined;
    return typeof end.id === 'string' && typeof end.vehicleId === 'number' && hasEnded(end) ? end : undefined;
  } catch {
    return undefined;
  }
}

/** Opens the two Redis connections that publishing and subscribing need; the caller closes them. */
export function openCommandEvents(redisUrl: string, prefix: string, logger: Logger): CommandEvents {
  const channel = `${prefix}:commands`;
  const origin = randomUUID();
  const publisher = connectRedis(redisUrl, logger);
  const subscriber = connectRedis(redisUrl, logger);
  const byVehicle: WatchersBy<number> = new Map();
  const hear = (end: CommandEnd): void => {
    for (const watcher of byVehicle.get(end.vehicleId) ?? []) watcher.hear(end);
  };

  subscriber.on('ready', () => {
    subscriber.subscribe(channel).catch((error: unknown) => logger.warn({ err: error }, 'commands are only polled'));
  });
  subscriber.on('message', (_channel: string, text: string) => {
    const end = parseEnd(text, origin);
    if (end) hear(end);
  });

  return {
    announce(ends) {
      for (const end of ends) {
        hear(end);
        const { id, vehicleId, state, cause, status, reason, nextId } = end;
        const text = JSON.stringify({ origin, id, vehicleId, state, cause, status, reason, nextId });
        publisher.publish(channel, text).catch((error: unknown) => logger.debug({ err: error }, 'not announced'));
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
