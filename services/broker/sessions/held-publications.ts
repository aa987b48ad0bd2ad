import type { ReceivedUpload } from '@odograph/queue/intake';
import type { HeldByLane } from '@odograph/queue/shards';
import { Gauge, type Registry } from '@odograph/runtime/metrics';
import type { DeviceThrottle } from '@odograph/sessions/throttle';
import type { Client } from 'aedes';

/** The session of a device, as far as its publications need it. */
export interface Publisher {
  readonly client: Client;
  readonly deviceId: string;
  readonly throttle: DeviceThrottle;
  readonly order: ReleaseOrder;
}

/** A PUBLISH of a device. */
export interface Publication extends Omit<ReceivedUpload, 'deviceId'> {
  /** Monotonic clock. */
  readonly heldSinceMs: number;
  /** Lets aedes send the PUBACK. */
  readonly release: () => void;
}

/** A PUBLISH whose PUBACK waits until the queue has its payload. */
export interface HeldPublication extends Publication, ReceivedUpload {
  readonly publisher: Publisher;
  readonly isLate: boolean;
  isStored: boolean;
  hasResumedReading: boolean;
  next: HeldPublication | undefined;
}

/**
 * Releases the PUBACKs of one connection in the order of its PUBLISHes [MQTT-4.6.0-2], in any order of storage.
 * aedes handles all packets of a chunk at once and would let their answers overtake each other.
 */
export class ReleaseOrder {
  #first: HeldPublication | undefined;
  #last: HeldPublication | undefined;
  #onEmpty: (() => void) | undefined;

  enter(publication: HeldPublication): void {
    if (this.#first === undefined || this.#last === undefined) this.#first = publication;
    else this.#last.next = publication;
    this.#last = publication;
  }

  /** Releases this publication and the stored ones after it, once everything before it has been released. */
  release(publication: HeldPublication): void {
    publication.isStored = true;
    for (let first = this.#first; first?.isStored; first = this.#first) {
      this.#first = first.next;
      // aedes would report an answer to a closed connection as one more failure of it.
      if (!first.publisher.client.closed) first.release();
    }
    if (this.#first === undefined) this.#onEmpty?.();
  }

  /** Calls `listener` now if every PUBACK has been released, and each time that becomes true. */
  whenEmpty(listener: () => void): void {
    this.#onEmpty = listener;
    if (this.#first === undefined) listener();
  }

  /** Lets a connection read one chunk more for each publication that is held since `dueMs` or longer. */
  resumeReading({ client }: Publisher, dueMs: number): void {
    for (let held = this.#first; held && held.heldSinceMs <= dueMs && !client.closed; held = held.next) {
      if (held.hasResumedReading) continue;
      held.hasResumedReading = true;
      client.resume();
    }
  }
}

/** Memory of a held publication apart from its payload: the packet, its closures, its place in the order. */
const overheadBytes = 1024;
const resumeAfterMs = 1000;
const resumeIntervalMs = 500;

/** Holds publications of all connections within a limit of bytes until they are stored. */
export class HeldPublications {
  readonly #held: HeldByLane;
  readonly #timer: NodeJS.Timeout;

  constructor(held: HeldByLane, live: { readonly sessions: Iterable<Publisher> }, registry: Registry) {
    this.#held = held;
    this.#timer = setInterval(() => resumeReading(live.sessions), resumeIntervalMs);
    const bytes = (): number => held.total;
    new Gauge({
      name: 'odograph_broker_held_bytes',
      help: 'Bytes of publications that wait for Redis',
      registers: [registry],
      collect() {
        this.set(bytes());
      },
    });
  }

  /**
   * Holds a PUBLISH of a device.
   * @param isLate whether it takes the late lane
   * @returns undefined when it would exceed the limit of bytes
   */
  hold(publisher: Publisher, publication: Publication, isLate: boolean): HeldPublication | undefined {
    const { deviceId } = publisher;
    if (!this.#held.reserve(deviceId, costOf(publication.payload), isLate)) return undefined;
    const held: HeldPublication = {
      ...publication,
      publisher,
      deviceId,
      isLate,
      isStored: false,
      hasResumedReading: false,
      next: undefined,
    };
    publisher.order.enter(held);
    return held;
  }

  /** Releases the PUBACK of a stored publication in the order of its connection. */
  release(publication: HeldPublication): void {
    this.#held.release(publication.deviceId, costOf(publication.payload), publication.isLate);
    publication.publisher.order.release(publication);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Bytes that a held publication counts for. */
function costOf(payload: Buffer): number {
  return payload.length + overheadBytes;
}

/**
 * Keeps connections with held publications alive: aedes reads no further until every packet of a chunk is handled, so a
 * PINGREQ after a held PUBLISH would stay unanswered and both ends would give up the connection. Each publication that
 * has waited for a second lets its connection read one chunk more; the limit of bytes bounds what that may bring.
 */
function resumeReading(sessions: Iterable<Publisher>): void {
  const dueMs = performance.now() - resumeAfterMs;
  for (const session of sessions) session.order.resumeReading(session, dueMs);
}
