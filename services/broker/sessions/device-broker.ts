import { downChannels, parseDeviceTopic, recordedChannel } from '@odograph/contracts/topics';
import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes';
import type { SessionStore } from './aedes-internals.ts';
import type { Sessions } from './session.ts';

type Done = (error?: Error) => void;

const nothing = Buffer.alloc(0);

/**
 * aedes, kept from doing what this broker has no use for: what a device says is not routed (it is kept by then), nor what
 * the command service says to the broker itself; a command never becomes anything that could wait for a session, and a
 * store of sessions holds nothing that grows.
 */
export class DeviceBroker extends Aedes {
  readonly #sessions: Sessions;

  constructor(options: AedesOptions, sessions: Sessions) {
    super(options);
    this.#sessions = sessions;
  }

  override async listen(): Promise<void> {
    await super.listen();
    keepSessionsSmall(this.persistence);
  }

  override publish(packet: PublishPacket, client: Client | null | Done, done?: Done): void {
    const publisher = typeof client === 'function' || client === null ? undefined : this.#sessions.get(client);
    const channel = publisher?.kind === 'device' ? undefined : parseDeviceTopic(packet.topic)?.channel;
    if (publisher?.kind === 'device' || channel === recordedChannel) {
      done?.();
      return;
    }
    const publish = super.publish as (packet: PublishPacket, client: Client | null | Done, done?: Done) => void;
    publish.call(this, channel === 'commands' ? { ...packet, qos: 0, retain: false } : packet, client, done);
  }

  /** Tells the command service what a device said, if it listens now. */
  announce(topic: string, payload: Buffer): void {
    this.publish({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false }, null, () => undefined);
  }

  /** A connection that ends after another has taken its client id over must not take that one off the list. */
  override unregisterClient(client: Client): void {
    if (this.clients[client.id] === client) super.unregisterClient(client);
    else this.emit('clientDisconnect', client);
  }
}

/**
 * aedes stores the subscriptions of a persistent session as they were asked for, refused ones too, and the payload of a
 * QoS 2 PUBLISH until its PUBREL. The first is reduced to what the client may have, the second to the packet's number.
 */
function keepSessionsSmall(store: SessionStore): void {
  const addSubscriptions = store.addSubscriptions.bind(store);
  const incomingStorePacket = store.incomingStorePacket.bind(store);
  store.addSubscriptions = (client, subscriptions) => {
    const own = subscriptions.filter(({ topic }) => {
      const parsed = parseDeviceTopic(topic);
      return parsed?.deviceId === client.id && downChannels.has(parsed.channel);
    });
    return own.length === 0 ? Promise.resolve() : addSubscriptions(client, own);
  };
  store.incomingStorePacket = (client, packet) => incomingStorePacket(client, { ...packet, payload: nothing });
}
