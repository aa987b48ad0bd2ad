import { downChannels, parseDeviceTopic } from '@odograph/contracts/topics';
import { Aedes, type AedesOptions, type Client, type PublishPacket } from 'aedes';
import type { SessionStore } from './aedes-internals.ts';
import type { Sessions } from './session.ts';

type Done = (error?: Error) => void;

const nothing = Buffer.alloc(0);

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
    keepSessionsSmall(this.persistence);
  }

  override publish(packet: PublishPacket, client: Client | null | Done, done?: Done): void {
    const publisher = typeof client === 'function' || client === null ? undefined : this.#sessions.get(client);
    if (publisher?.kind === 'device') {
      done?.();
      return;
    }
    const channel = parseDeviceTopic(packet.topic)?.channel;
    const publish = super.publish as (packet: PublishPacket, client: Client | null | Done, done?: Done) => void;
    publish.call(this, channel === 'commands' ? { ...packet, qos: 0, retain: false } : packet, client, done);
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
