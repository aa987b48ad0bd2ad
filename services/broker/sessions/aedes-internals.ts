import type { PublishPacket } from 'aedes';

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

export interface StoredSubscription {
  topic: string;
  qos: number;
}

/** Those of the persistence's methods that the broker narrows. */
export interface SessionStore {
  addSubscriptions(client: { id: string }, subscriptions: StoredSubscription[]): Promise<void>;
  incomingStorePacket(client: { id: string }, packet: PublishPacket): Promise<void>;
}
