import { Readable } from 'node:stream';
import { downChannels, parseDeviceTopic } from '@odograph/contracts/topics';
import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes';
import type { Sessions } from './session-registry.ts';

/** Parts of aedes 1.2.0 that its type declarations leave out. */
declare module 'aedes' {
  interface Aedes {
    readonly clients: Readonly<Record<string, Client>>;
    readonly persistence: SessionStore;
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

/** The methods of the persistence that this broker narrows. */
interface SessionStore {
  addSubscriptions(client: { id: string }, subscriptions: StoredSubscription[]): Promise<void>;
  incomingStorePacket(client: { id: string }, packet: PublishPacket): Promise<void>;
  storeRetained(packet: PublishPacket): Promise<void>;
  createRetainedStreamCombi(topics: readonly string[]): Readable;
}

type Done = (error?: Error) => void;

/**
 * Restricts aedes to what this broker needs: publications of devices are not routed (the queue has them), a command is
 * never retained or stored for a session, and the session store holds nothing that grows.
 */
export class DeviceBroker extends Aedes {
  readonly #sessions: Sessions;

  constructor(options: AedesOptions, sessions: Sessions) {
    super(options);
    this.#sessions = sessions;
  }

  override async listen(): Promise<void> {
    await super.listen();
    narrowSessionStore(this.persistence);
  }

  override publish(packet: PublishPacket, client: Client | null | Done, done?: Done): void {
    const publisher = typeof client === 'function' || client === null ? undefined : this.#sessions.get(client);
    if (publisher?.kind === 'device') {
      done?.();
      return;
    }
    const isCommand = parseDeviceTopic(packet.topic)?.channel === 'commands';
    const publish = super.publish as (packet: PublishPacket, client: Client | null | Done, done?: Done) => void;
    publish.call(this, isCommand ? { ...packet, qos: 0, retain: false } : packet, client, done);
  }

  /** A connection that ends after another has taken over its client id must not remove its successor. */
  override unregisterClient(client: Client): void {
    if (this.clients[client.id] === client) super.unregisterClient(client);
    else this.emit('clientDisconnect', client);
  }
}

const emptyPayload = Buffer.alloc(0);

/**
 * aedes stores all subscriptions that a persistent session requests, refused ones too, and the payload of a QoS 2 PUBLISH
 * until its PUBREL. The first is reduced to what the client may receive, the second to the packet's number. It compares
 * each topic of a SUBSCRIBE with every retained message; here, retained messages are found by their exact topic, since
 * no client may subscribe to others.
 */
function narrowSessionStore(store: SessionStore): void {
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
  const retained = new Map<string, PublishPacket>();
  store.storeRetained = async (packet) => {
    if (packet.payload.length === 0) retained.delete(packet.topic);
    else retained.set(packet.topic, { ...packet });
  };
  store.createRetainedStreamCombi = (topics) => Readable.from(topics.flatMap((topic) => retained.get(topic) ?? []));
}
