import { signal } from '@preact/signals';
import type { Schema } from '../api/client.ts';
import { checkSession } from '../session.ts';
import { readEvents, type StreamEvent } from './event-stream.ts';

/** An event of GET /v1/x/events. */
export type LiveEvent =
  | Schema<'LiveResetEvent'>
  | Schema<'LiveSnapshotEvent'>
  | Schema<'LiveChangesEvent'>
  | Schema<'LiveCellsEvent'>
  | Schema<'LiveCommandEvent'>
  | Schema<'LiveAlarmEvent'>;
export type LiveVehicle = Schema<'LiveVehicle'>;
export type LiveCell = Schema<'LiveCell'>;
export type LiveCommand = Schema<'LiveCommand'>;

/** Whether the page is up to date, and since when it is not, UNIX milliseconds. */
export type Connection =
  | { readonly state: 'connecting' | 'live' }
  | { readonly state: 'lost'; readonly sinceMs: number };

const path = '/v1/x/events';
/** The platform sends at least a heartbeat each 15 s. */
const silenceMs = 40_000;
const firstPauseMs = 500;
const longestPauseMs = 10_000;

const delay = (milliseconds: number, cancel: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    cancel.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/**
 * One connection to the live stream that comes back by itself: after an error, a restart of the platform and a sleep of the
 * machine it continues behind the last event that it received, without a loss.
 */
export class LiveStream {
  readonly connection = signal<Connection>({ state: 'connecting' });
  readonly #query: string;
  readonly #handle: (event: LiveEvent) => void;
  readonly #stopped = new AbortController();
  #attempt = new AbortController();
  #lastEventId = '';
  #heardMs = Date.now();

  /** @param query of GET /v1/x/events. @param handle is called with every event, in order */
  constructor(query: URLSearchParams, handle: (event: LiveEvent) => void) {
    this.#query = query.toString();
    this.#handle = handle;
    const watch = setInterval(() => {
      if (Date.now() - this.#heardMs > silenceMs) this.#attempt.abort();
    }, 5000);
    this.#stopped.signal.addEventListener('abort', () => clearInterval(watch));
    // A network that is back is tried at once.
    addEventListener('online', () => this.#attempt.abort(), { signal: this.#stopped.signal });
    void this.#run();
  }

  /** Closes the connection; no event follows. */
  stop(): void {
    this.#stopped.abort();
    this.#attempt.abort();
  }

  async #run(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!this.#stopped.signal.aborted) {
      this.#attempt = new AbortController();
      this.#heardMs = Date.now();
      const wasLive = await this.#connect(this.#attempt.signal).catch(() => false);
      if (this.#stopped.signal.aborted) return;
      if (this.connection.value.state !== 'lost') this.connection.value = { state: 'lost', sinceMs: this.#heardMs };
      pauseMs = wasLive ? firstPauseMs : Math.min(pauseMs * 2, longestPauseMs);
      // Browsers that lost the connection at the same moment must not come back at the same moment.
      await delay(pauseMs * (0.5 + Math.random()), AbortSignal.any([this.#stopped.signal]));
    }
  }

  /** Reads one connection to its end. @returns whether it delivered events */
  async #connect(signal: AbortSignal): Promise<boolean> {
    const headers = this.#lastEventId === '' ? {} : { 'last-event-id': this.#lastEventId };
    const response = await fetch(`${path}?${this.#query}`, { headers, signal, cache: 'no-store' });
    if (response.status === 401) await checkSession();
    if (!response.ok || !response.body) return false;
    let isLive = false;
    try {
      const onBytes = () => {
        this.#heardMs = Date.now();
      };
      for await (const event of readEvents(response.body, onBytes)) {
        if (signal.aborted) break;
        this.#deliver(event);
        if (!isLive) this.connection.value = { state: 'live' };
        isLive = true;
      }
    } catch {
      // Cut off: the next connection continues.
    }
    return isLive;
  }

  #deliver({ event, data, id }: StreamEvent): void {
    if (data !== '') this.#handle({ event, data: JSON.parse(data) } as LiveEvent);
    if (id !== undefined) this.#lastEventId = id;
  }
}
