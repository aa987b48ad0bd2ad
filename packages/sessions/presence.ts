import {
  brokerKey,
  brokerOfSession,
  disconnectedKey,
  gatewaysChannel,
  keyListRetentionKey,
  keyListsKey,
  presenceKey,
  type SessionMessage,
} from '@odograph/contracts/presence';
import type { Logger } from '@odograph/runtime/logger';
import {
  connectRedis,
  isCluster,
  neverRepeated,
  type Redis,
  type Server,
  subscriptionOf,
} from '@odograph/runtime/redis';

/** Lua: whether a device has a session whose broker's key exists, in one round trip. */
const hasLiveSession = `local session = redis.call('HGET', KEYS[1], ARGV[1])
if not session then return 0 end
return redis.call('EXISTS', ARGV[2] .. string.match(session, '^[^ ]*'))`;

/** Tells whether the device has a live session. @throws when Redis is unavailable */
export async function isPresent(redis: Redis, prefix: string, deviceId: string): Promise<boolean> {
  return (await redis.eval(hasLiveSession, 1, presenceKey(prefix), deviceId, brokerKey(prefix, ''))) === 1;
}

/**
 * Finds the devices with a live session.
 * @param ids the devices to look for; default: all
 * @throws when Redis is unavailable
 */
export async function findPresent(redis: Redis, prefix: string, ids?: readonly string[]): Promise<Set<string>> {
  if (ids?.length === 0) return new Set();
  const sessions = new Map<string, string>();
  if (ids === undefined) {
    for (const [id, session] of Object.entries(await redis.hgetall(presenceKey(prefix)))) sessions.set(id, session);
  } else {
    const values = await redis.hmget(presenceKey(prefix), ...ids);
    ids.forEach((id, index) => {
      const session = values[index];
      if (typeof session === 'string') sessions.set(id, session);
    });
  }
  const live = new Set<string>();
  for (const broker of new Set([...sessions.values()].map(brokerOfSession))) {
    if ((await redis.exists(brokerKey(prefix, broker))) === 1) live.add(broker);
  }
  return new Set([...sessions].flatMap(([id, session]) => (live.has(brokerOfSession(session)) ? [id] : [])));
}

/**
 * Finds the times at which the last sessions of devices ended, as brokers and gateways recorded them. For a session that
 * ended while Redis was unavailable, or with its broker, that is the time of the first successful write.
 * @returns UNIX milliseconds by device id; devices whose first session has not ended are left out
 * @throws when Redis is unavailable
 */
export async function findSessionEnds(
  redis: Redis,
  prefix: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const times = await redis.hmget(disconnectedKey(prefix), ...ids);
  return new Map(
    ids.flatMap((id, index): [string, number][] => {
      const time = times[index];
      return typeof time === 'string' ? [[id, Number(time)]] : [];
    }),
  );
}

/** Lua: publishes a message to the broker or gateway that holds the session of a device, in one round trip. */
const publishToSession = `local session = redis.call('HGET', KEYS[1], ARGV[1])
if not session then return -1 end
local broker = ARGV[2] .. string.match(session, '^[^ ]*')
if redis.call('EXISTS', broker) == 0 then return -1 end
return redis.call('PUBLISH', broker, ARGV[3])`;

/** Outcome of a message: `offline` without a live session, `unreachable` when no process receives messages for it. */
export type SendOutcome = 'sent' | 'offline' | 'unreachable';

/** Sends messages to devices through the broker or gateway that holds their session. Messages are not stored. */
export class DeviceMessenger {
  readonly #redis: Redis;
  readonly #prefix: string;

  constructor(redisUrl: string, prefix: string, logger: Logger) {
    // A message without an answer may have been sent; a retry could send it twice.
    this.#redis = connectRedis(redisUrl, logger, neverRepeated);
    this.#prefix = prefix;
  }

  get isConnected(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Tells whether the device has a live session. @throws when Redis is unavailable */
  isPresent(deviceId: string): Promise<boolean> {
    return isPresent(this.#redis, this.#prefix, deviceId);
  }

  /**
   * Sends a message at most once to the broker or gateway that holds the live session of its device.
   * @throws when Redis is unavailable; when the connection closed before the answer, the message may have been sent
   */
  async send(message: SessionMessage): Promise<SendOutcome> {
    const parameters = [message.deviceId, brokerKey(this.#prefix, ''), JSON.stringify(message)];
    const receivers = Number(await this.#redis.eval(publishToSession, 1, presenceKey(this.#prefix), ...parameters));
    if (receivers < 0) return 'offline';
    return this.#outcomeOf(receivers);
  }

  /** Sends a command for a device behind a source to every gateway; one of them claims it. @throws as `send` */
  async sendToGateways(message: SessionMessage): Promise<SendOutcome> {
    const receivers = await this.#redis.publish(gatewaysChannel(this.#prefix), JSON.stringify(message));
    return this.#outcomeOf(receivers);
  }

  /** On a cluster, PUBLISH counts the receivers of one node only, so zero does not mean unreachable. */
  #outcomeOf(receivers: number): SendOutcome {
    return receivers === 0 && !isCluster(this.#redis) ? 'unreachable' : 'sent';
  }

  /** Stores the newest key list of a device for later SUBSCRIBEs and sends it to its session. @throws as `send` */
  async sendKeyList(deviceId: string, list: string): Promise<void> {
    await this.#redis.hset(keyListsKey(this.#prefix), deviceId, list);
    await this.send({ kind: 'key-list', deviceId, list });
  }

  /** Tells whether Redis has every key list sent since `markKeyListsKept`; false once Redis has lost its data. */
  async keepsKeyLists(): Promise<boolean> {
    return (await this.#redis.exists(keyListRetentionKey(this.#prefix))) === 1;
  }

  async markKeyListsKept(): Promise<void> {
    await this.#redis.set(keyListRetentionKey(this.#prefix), '1');
  }

  close(): void {
    this.#redis.disconnect();
  }
}

const retryMs = 1000;

export interface ChannelReceiver {
  /** A dedicated connection: Redis permits no other commands on a subscribing one. */
  readonly subscriber: Redis;
  readonly channel: string;
  onMessage(text: string): void;
  /**
   * Called after each subscription; messages sent since the previous one ended are lost.
   * @throws to be called again
   */
  onSubscribed?(): Promise<void>;
  /** Reports each attempt to subscribe. @param error the reason of a failure */
  report(error?: unknown): void;
}

/**
 * Subscribes to a channel now or once Redis is available, and again after each reconnect.
 * @returns a function that unsubscribes; messages sent from then on have no receiver
 */
export function receiveChannel(receiver: ChannelReceiver): () => Promise<void> {
  const { subscriber, channel } = receiver;
  let retry: NodeJS.Timeout | undefined;
  let connection: Server | undefined;
  const subscribe = async (): Promise<void> => {
    clearTimeout(retry);
    connection?.off('end', onReady);
    connection = subscriptionOf(subscriber)?.once('end', onReady);
    try {
      await subscriber.subscribe(channel);
      await receiver.onSubscribed?.();
      receiver.report();
    } catch (error) {
      receiver.report(error);
      // While Redis is unavailable, its 'ready' event triggers the next attempt.
      if (subscriber.status === 'ready') retry = setTimeout(() => void subscribe(), retryMs);
    }
  };
  const onReady = (): void => void subscribe();
  const onMessage = (from: string, text: string): void => {
    if (from !== channel) return;
    try {
      receiver.onMessage(text);
    } catch (error) {
      // Throwing, as for a message of another version, would end the process. The subscription itself works.
      receiver.report(error);
      receiver.report();
    }
  };
  subscriber.on('ready', onReady);
  subscriber.on('message', onMessage);
  if (subscriber.status === 'ready') onReady();
  return async () => {
    clearTimeout(retry);
    connection?.off('end', onReady);
    subscriber.off('ready', onReady);
    subscriber.off('message', onMessage);
    if (subscriber.status === 'ready') await subscriber.unsubscribe(channel);
  };
}
