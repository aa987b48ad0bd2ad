import type { Client } from 'aedes';

/** A PUBLISH that waits until what it brought is certain to be kept. */
export interface Publication {
  readonly client: Client;
  readonly payload: Buffer;
  /** By the clock on the wall, which can be set. */
  readonly receivedAtMs: number;
  /** By the clock of the process, which cannot. */
  readonly heldSinceMs: number;
  /** What it counts for in held-bytes.ts. */
  readonly cost: number;
  /** Lets aedes answer the PUBLISH, or with an error close the connection. */
  readonly release: (error?: Error) => void;
  settled: boolean;
  /** Whether its connection was told to read on meanwhile; see read-on.ts. */
  readingResumed: boolean;
  next: Publication | undefined;
}

/**
 * Lets the PUBACKs of one connection go in the order of its PUBLISHes [MQTT-4.6.0-2], in whatever order they are settled.
 * aedes handles all packets of a chunk at once and would let them overtake each other.
 */
export class ReleaseOrder {
  #first: Publication | undefined;
  #last: Publication | undefined;

  /** Takes a place at the end. */
  enter(publication: Publication): void {
    if (this.#first === undefined || this.#last === undefined) this.#first = publication;
    else this.#last.next = publication;
    this.#last = publication;
  }

  /** Releases this one and all settled ones behind it, as soon as nothing before it is unsettled. */
  settle(publication: Publication): void {
    publication.settled = true;
    for (let first = this.#first; first?.settled; first = this.#first) {
      this.#first = first.next;
      // aedes would report an answer to a closed connection as one more failure of it.
      if (!first.client.closed) first.release();
    }
  }
}
