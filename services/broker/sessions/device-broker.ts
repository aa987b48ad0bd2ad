import { Readable } from 'node:stream';
import { deviceTopic, downChannels, parseDeviceTopic } from '@odograph/contracts/topics';
import type { Logger } from '@odograph/runtime/logger';
import { Aedes, type AedesOptions, type AedesPublishPacket, type Client, type PublishPacket } from 'aedes';
import type { DeviceSession, Sessions } from './session-registry.ts';

/** Parts of aedes 1.2.0 that its type declarations leave out. */
declare module 'aedes' {
  interface Aedes {
    readonly clients: Readonly<Record<string, Client>>;
    readonly persistence: SessionStore;
    /** Delivers messages to the subscribed clients, in their order. */
    readonly mq: { emit(packet: AedesPublishPacket): void };
    /** The number of the last message. */
    counter: number;
    unregisterClient(client: Client): void;
    on(event: 'error', listener: (error: Error) => void): this;
  }
  interface Client {
    /** Reads on, even when packets of the last chunk are still being handled. */
    resume(): void;
  }
}

interface StoredSubscription {
  topic: string;
  qos: number;
}

/** The methods of the session store that this broker restricts. */
interface SessionStore {
  addSubscriptions(client: { id: string }, subscriptions: StoredSubscription[]): Promise<void>;
  incomingStorePacket(client: { id: string }, packet: PublishPacket): Promise<void>;
  outgoingEnqueueCombi(subscriptions: readonly unknown[], packet: PublishPacket): Promise<void>;
  outgoingUpdate(client: { id: string }, packet: PublishPacket): Promise<void>;
  createRetainedStreamCombi(topics: readonly string[]): Readable;
}

type Done = (error?: Error) => void;
/** Channels whose messages reach only live sessions. */
type LiveChannel = 'commands' | 'rejects';

const listsPerRead = 500;

export interface DeviceBrokerOptions extends Omit<AedesOptions, 'authorizeSubscribe' | 'authorizeForward'> {
  readonly sessions: Sessions;
  /** Reads the newest key lists of devices. @throws when Redis is unavailable */
  readKeyLists(deviceIds: readonly string[]): Promise<(string | null)[]>;
  onRefusedSubscription(topic: string): void;
  readonly logger: Logger;
}

/**
 * Restricts aedes to what this broker needs: publications of devices are not routed (the queue has them), a command is
 * never retained or stored for a session, key lists are the only retained messages and are kept in Redis for all brokers,
 * and the session store holds nothing that grows.
 */
export class DeviceBroker extends Aedes {
  readonly #options: DeviceBrokerOptions;

  constructor({ sessions, readKeyLists, onRefusedSubscription, logger, ...options }: DeviceBrokerOptions) {
    super({
      ...options,
      authorizeSubscribe: createAuthorizeSubscribe(sessions, onRefusedSubscription),
      authorizeForward: createAuthorizeForward(sessions),
    });
    this.#options = { sessions, readKeyLists, onRefusedSubscription, logger };
    this.on('clientReady', (client) => {
      const session = sessions.get(client);
      // MQTT sends no retained message to the resumed subscription of a persistent session [MQTT-3.1.2-4].
      if (session?.keyListVersion !== undefined) void this.#sendResumedKeyList(session);
    });
  }

  override async listen(): Promise<void> {
    await super.listen();
    narrowSessionStore(this.persistence, (topics) => this.#readRetained(topics));
  }

  override publish(packet: PublishPacket, client: Client | null | Done, done?: Done): void {
    if (typeof client !== 'function' && client !== null && this.#options.sessions.has(client)) {
      done?.();
      return;
    }
    const publish = super.publish as (packet: PublishPacket, client: Client | null | Done, done?: Done) => void;
    publish.call(this, packet, client, done);
  }

  /** A connection that ends after another has taken over its client id must not remove its successor. */
  override unregisterClient(client: Client): void {
    if (this.clients[client.id] === client) super.unregisterClient(client);
    else this.emit('clientDisconnect', client);
  }

  /** Sends a message at QoS 0 to the device of a session, if it subscribes to the channel. */
  send({ deviceId }: DeviceSession, channel: LiveChannel, message: object): void {
    this.#send(deviceTopic(deviceId, channel), JSON.stringify(message), 0);
  }

  /** Sends a key list at QoS 1 to the device of a session, if it subscribes to its key lists. */
  sendKeyList(session: DeviceSession, list: string): void {
    if (session.keyListVersion === undefined) return;
    session.keyListVersion = versionOf(list);
    this.#send(session.keysTopic, list, 1);
  }

  /** Sends the newest key list to each subscribed device that has not received it. @throws when Redis is unavailable */
  async sendMissedKeyLists(sessions: Iterable<DeviceSession>): Promise<void> {
    const subscribed = [...sessions].filter(({ keyListVersion }) => keyListVersion !== undefined);
    for (let start = 0; start < subscribed.length; start += listsPerRead) {
      const chunk = subscribed.slice(start, start + listsPerRead);
      const lists = await this.#options.readKeyLists(chunk.map(({ deviceId }) => deviceId));
      chunk.forEach((session, index) => {
        const list = lists[index];
        if (typeof list === 'string' && versionOf(list) !== session.keyListVersion) this.sendKeyList(session, list);
      });
    }
  }

  /**
   * Sends a message immediately. `publish` would number it and send it later if it has QoS 1, and a client drops a message
   * whose number is not higher than that of the one before it.
   */
  #send(topic: string, payload: string, qos: 0 | 1): void {
    this.counter += 1;
    const number = { brokerId: this.id, brokerCounter: this.counter };
    this.mq.emit({ cmd: 'publish', topic, payload, qos, retain: false, dup: false, ...number });
  }

  async #sendResumedKeyList(session: DeviceSession): Promise<void> {
    await this.sendMissedKeyLists([session]).catch((error: unknown) => this.#logUnread(error));
  }

  /** Reads the key lists among the topics of a SUBSCRIBE: the only retained messages, found by their exact topic. */
  async *#readRetained(topics: readonly string[]): AsyncGenerator<PublishPacket> {
    for (const topic of topics) {
      const { channel, deviceId = '' } = parseDeviceTopic(topic) ?? {};
      if (channel !== 'keys') continue;
      const list = await this.#readKeyList(deviceId);
      if (list === undefined) continue;
      const session = this.#sessionOf(deviceId);
      if (session) session.keyListVersion = versionOf(list);
      yield { cmd: 'publish', topic, payload: Buffer.from(list), qos: 1, retain: true, dup: false };
    }
  }

  async #readKeyList(deviceId: string): Promise<string | undefined> {
    try {
      const [list] = await this.#options.readKeyLists([deviceId]);
      return list ?? undefined;
    } catch (error) {
      this.#logUnread(error);
      return undefined;
    }
  }

  #logUnread(error: unknown): void {
    this.#options.logger.warn({ err: error }, 'key list not read; sent once Redis is available');
  }

  #sessionOf(deviceId: string): DeviceSession | undefined {
    const client = this.clients[deviceId];
    return client && this.#options.sessions.get(client);
  }
}

/** Returns the version of a key list that the command service has written. */
function versionOf(list: string): number {
  return (JSON.parse(list) as { version: number }).version;
}

const emptyPayload = Buffer.alloc(0);

/**
 * Restricts the session store. aedes stores all subscriptions that a persistent session requests, even refused ones, the
 * payload of a QoS 2 PUBLISH until its PUBREL, and every key list until its PUBACK. This stores only permitted subscriptions
 * and packet identifiers. It stores no key lists: a resumed session receives the newest one from Redis.
 */
function narrowSessionStore(
  store: SessionStore,
  readRetained: (topics: readonly string[]) => AsyncGenerator<PublishPacket>,
): void {
  const addSubscriptions = store.addSubscriptions.bind(store);
  const incomingStorePacket = store.incomingStorePacket.bind(store);
  store.addSubscriptions = (client, subscriptions) => {
    const own = subscriptions.filter(({ topic }) => {
      const parsed = parseDeviceTopic(topic);
      return parsed?.deviceId === client.id && downChannels.has(parsed.channel);
    });
    return own.length === 0 ? Promise.resolve() : addSubscriptions(client, own);
  };
  store.incomingStorePacket = (client, packet) => incomingStorePacket(client, { ...packet, payload: emptyPayload });
  store.outgoingEnqueueCombi = () => Promise.resolve();
  store.outgoingUpdate = () => Promise.resolve();
  store.createRetainedStreamCombi = (topics) => Readable.from(readRetained(topics));
}

type AuthorizeForward = NonNullable<AedesOptions['authorizeForward']>;
type AuthorizeSubscribe = NonNullable<AedesOptions['authorizeSubscribe']>;

/**
 * Lets a device subscribe to its own commands, keys and rejects, by their exact topics. Any other SUBSCRIBE is answered with
 * 0x80 and the connection stays [MQTT-3.9.3].
 */
function createAuthorizeSubscribe(sessions: Sessions, onRefused: (topic: string) => void): AuthorizeSubscribe {
  return (client, subscription, callback) => {
    const session = sessions.get(client);
    if (session && isForDevice(session, subscription.topic)) {
      if (subscription.topic === session.keysTopic) session.keyListVersion ??= 0;
      return callback(null, subscription);
    }
    onRefused(subscription.topic);
    callback(null, null);
  };
}

/**
 * Forwards to a device only its own topics, whatever its session has subscribed to, and no expired commands ("executed
 * never after it" in docs/device-protocol.md).
 */
function createAuthorizeForward(sessions: Sessions): AuthorizeForward {
  return (client, packet) => {
    const session = sessions.get(client);
    return session && isForwarded(session, packet) ? packet : null;
  };
}

/** Tells whether a device may receive a message; if so, counts it as awaiting acknowledgement. */
function isForwarded(session: DeviceSession, packet: AedesPublishPacket): boolean {
  if (!isForDevice(session, packet.topic)) return false;
  if (packet.topic === session.commandsTopic && isExpired(packet)) return false;
  if (packet.qos > 0) session.unacknowledgedMessages += 1;
  return true;
}

function isForDevice(session: DeviceSession, topic: string): boolean {
  return topic === session.commandsTopic || topic === session.keysTopic || topic === session.rejectsTopic;
}

/** Tells whether a command has expired; one without a readable expiry has. */
function isExpired({ payload }: AedesPublishPacket): boolean {
  try {
    const { expiresAt } = JSON.parse(payload.toString()) as { expiresAt?: unknown };
    return typeof expiresAt !== 'number' || Date.now() >= expiresAt * 1000;
  } catch {
    return true;
  }
}
