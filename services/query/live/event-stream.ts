import { Readable } from 'node:stream';
import { invalidParameter } from '@odograph/contracts/failures';
import { type EventCursor, parseCursor } from '@odograph/event-list/cursor';
import type { EventFollower } from './event-followers.ts';
import type { FleetView, Scope } from './fleet-view.ts';
import type { VehicleChange } from './live-fleet.ts';
import { maxEvents, type RecentEvent } from './live-updates.ts';
import type { LiveReset } from './schemas.ts';

/** Bytes that wait for the client in this process; further ones wait in the socket. */
const bufferBytes = 64 * 1024;
/** EventSource reconnects after this time. */
const reconnectMs = 2000;

/** Sent without vehicles: each vehicle begins with its own reset. */
const missedReset = JSON.stringify({ reason: 'EXPIRED', mode: 'vehicles' } satisfies LiveReset);

export interface EventStreamOptions {
  /** Undefined for a stream without vehicles. */
  readonly view: FleetView | undefined;
  /** Whether commands and alarms may be missing that changed while the client was away. */
  readonly hasMissed: boolean;
  /** Whether to send a command or an alarm. */
  readonly shows: (event: RecentEvent) => boolean;
  /** The list of events, for a stream that shows some of it. */
  readonly list: EventFollower | undefined;
  /** Cursor up to which the current state has been sent; empty for a stream that shows only the list. */
  nextEventId(): string;
  /** Whether the answer ends as soon as the client is up to date. */
  readonly isOnce: boolean;
}

/**
 * The server-sent events of one client (WHATWG HTML, "Server-sent events"). An event is written when the client has read the
 * ones before, so a slow client gets fewer changes and takes no more memory.
 */
export class EventStream extends Readable {
  readonly #options: EventStreamOptions;
  readonly #events = new Map<string, RecentEvent>();
  #isWanted = false;
  #isHeard = false;
  #heartbeatsMissed = 0;
  /** The last cursor of the current state that was sent. */
  #presentId = '';

  constructor(options: EventStreamOptions) {
    super({ highWaterMark: bufferBytes });
    this.#options = options;
    // The client is gone, so the error has no other listener.
    this.on('error', () => undefined);
    this.push(`retry: ${reconnectMs}\n\n`);
    if (options.hasMissed) this.push(`event: reset\ndata: ${missedReset}\n\n`);
    if (!options.list) return;
    options.list.onReady = () => this.#sendPending();
    options.list.onExpired = () => this.end();
  }

  /** Takes in changes of the fleet, and sends them when the client reads. */
  apply(changes: readonly VehicleChange[], events: readonly RecentEvent[]): void {
    this.#options.view?.apply(changes);
    this.#addEvents(events);
    this.#sendPending();
  }

  /** Begins again when the client may see other vehicles. */
  changeScope(scope: Scope): void {
    this.#options.view?.changeScope(scope);
    this.#sendPending();
  }

  /** Sends a comment and the cursor if nothing was sent meanwhile. @returns calls since the client last read */
  heartbeat(): number {
    if (!this.#isWanted) {
      this.#heartbeatsMissed += 1;
      return this.#heartbeatsMissed;
    }
    this.#heartbeatsMissed = 0;
    if (!this.#isHeard) this.#write(`: heartbeat\n${this.#idLine()}\n`);
    this.#isHeard = false;
    return 0;
  }

  /** Ends the answer; the client reconnects. */
  end(): void {
    if (!this.destroyed) this.push(null);
    this.#isWanted = false;
  }

  override _read(): void {
    this.#isWanted = true;
    this.#sendPending();
  }

  #addEvents(events: readonly RecentEvent[]): void {
    for (const event of events) if (this.#options.shows(event)) this.#events.set(event.id, event);
    // Not fewer than a client that resumes can have missed, or it would be disconnected whenever it resumes.
    if (this.#events.size > maxEvents) this.destroy(new Error('client reads too slowly'));
  }

  #sendPending(): void {
    while (this.#isWanted && !this.destroyed) {
      const text = this.#nextEvent() ?? this.#nextOfList() ?? this.#nextOfView();
      if (text === undefined) {
        if (this.#options.isOnce && this.#options.list?.isUpToDate !== false) this.#finish();
        return;
      }
      this.#write(text);
    }
  }

  /** Sends the cursor, from which the next answer continues, and ends this one. */
  #finish(): void {
    this.#write(`: up to date\n${this.#idLine()}\n`);
    this.end();
  }

  #write(text: string): void {
    this.#isHeard = true;
    this.#isWanted = this.push(text);
  }

  #nextEvent(): string | undefined {
    const [next] = this.#events.values();
    if (!next) return undefined;
    this.#events.delete(next.id);
    return `event: ${next.event}\n${this.#idLine()}data: ${next.json}\n\n`;
  }

  /** The id of an event of the list is its cursor; that of the current state follows it without an event. */
  #nextOfList(): string | undefined {
    const next = this.#options.list?.take();
    if (!next) return undefined;
    const event = `event: ${next.type}\nid: ${next.id}\ndata: ${next.json}\n\n`;
    return this.#presentId === '' ? event : `${event}id: ${this.#idOf(this.#presentId)}\n\n`;
  }

  #nextOfView(): string | undefined {
    const next = this.#options.view?.take();
    if (!next) return undefined;
    if (next.event !== 'reset') return `event: ${next.event}\n${this.#idLine()}data: ${next.data}\n\n`;
    // Without a cursor, a client that loses the connection during a snapshot begins again.
    this.#presentId = '';
    const id = this.#idOf('');
    return `event: reset\n${id === '' ? 'id' : `id: ${id}`}\ndata: ${next.data}\n\n`;
  }

  /** The cursor, once the client has received everything up to it; a client that resumes there misses nothing. */
  #idLine(): string {
    const isUpToDate = this.#events.size === 0 && this.#options.view?.isUpToDate !== false;
    if (!isUpToDate) return '';
    this.#presentId = this.#options.nextEventId();
    return `id: ${this.#idOf(this.#presentId)}\n`;
  }

  #idOf(presentId: string): string {
    const listCursor = this.#options.list?.cursorText ?? '';
    return presentId === '' || listCursor === '' ? presentId + listCursor : `${presentId}~${listCursor}`;
  }
}

/** Resume point of a client: its cursors in the current state, with the view, and in the event list. */
interface ResumePoint {
  readonly positionMs?: number;
  readonly shown?: string;
  readonly list?: EventCursor;
}

/** Parses the header Last-Event-ID. @throws Failure INVALID_PARAMETER for text that no stream sent as an id */
export function parseLastEventId(text: string): ResumePoint {
  // Earlier versions wrote no letter behind the cursor of a stream without vehicles.
  const match = /^(?:(\d{1,15})-([0-9a-f]{16}[vce]?))?(?:(?:^|~)(\d.*))?$/.exec(text);
  if (!match) throw invalidParameter('Last-Event-ID', 'must be the id of an event');
  const [, positionMs, shown, list] = match;
  return {
    ...(positionMs !== undefined && shown !== undefined && { positionMs: Number(positionMs), shown }),
    ...(list !== undefined && { list: parseCursor(list, 'Last-Event-ID') }),
  };
}
