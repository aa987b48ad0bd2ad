import { readEvents, type StreamEvent } from '@odograph/client/event-stream';
import { backOffMs, delay } from '@odograph/client/retry';
import { signal } from '@preact/signals';
import type { Schema } from '../api/client.ts';
import { checkSession } from '../session.ts';

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

/**
 * Whether the page is up to date, and since when it is not, UNIX milliseconds. `polling`: a proxy holds the stream back, so the
 * states are read at intervals.
 */
export type Connection =
  | { readonly state: 'connecting' | 'live' | 'polling' }
  | { readonly state: 'lost'; readonly sinceMs: number };

/** Counts the changes of alarms that any stream of the page has delivered. */
export const alarmChanges = signal(0);

const path = '/v1/x/events';
/** The platform sends at least a heartbeat each 15 s. */
const silenceMs = 40_000;
/** The platform answers immediately; a later answer means that a proxy buffers the stream. */
const firstBytesMs = 15_000;
/** A connection that still delivers after this time is not held back. */
const flowsMs = 20_000;
const pollMs = 10_000;
/** How long to read at intervals before the stream is tried again. */
const heldBackMs = 300_000;
const watchMs = 2500;
const maxBackOffMs = 10_000;

/** Until when to read at intervals, in all streams of the page: a proxy that holds back one holds back all. */
let heldBackUntilMs = 0;

/** How a connection ended: without an event, after events, or, when it was to end, with everything up to now. */
type Outcome = 'failed' | 'held back' | 'ended' | 'up to date';

/**
 * One connection to the live stream, renewed after an error, a restart of the platform and a sleep of the machine; it continues
 * behind the last event that it received, without a loss.
 */
export class LiveStream {
  readonly connection = signal<Connection>({ state: 'connecting' });
  readonly #query: string;
  readonly #handle: (event: LiveEvent) => void;
  readonly #stopped = new AbortController();
  #attempt = new AbortController();
  #lastEventId = '';
  #heardMs = Date.now();
  #startedMs = Date.now();
  #hasAnswer = false;
  #isSilent = false;
  /** Connections in a row that fell silent soon after their start. */
  #silences = 0;
  /**
   * Whether a proxy holds the stream back: `suspected` after silence, `probable` once a read that ends was answered. A second
   * silence confirms it; the first may have been a connection that died in a sleep of the machine.
   */
  #suspicion: 'none' | 'suspected' | 'probable' = 'none';

  /** @param query of GET /v1/x/events. @param handle is called with every event, in order */
  constructor(query: URLSearchParams, handle: (event: LiveEvent) => void) {
    this.#query = query.toString();
    this.#handle = handle;
    const watch = setInterval(() => this.#endSilence(), watchMs);
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

  #endSilence(): void {
    const now = Date.now();
    const isSilent = this.#hasAnswer ? now - this.#heardMs > silenceMs : now - this.#startedMs > firstBytesMs;
    if (!isSilent || this.#attempt.signal.aborted) return;
    this.#isSilent = true;
    this.#attempt.abort();
  }

  async #run(): Promise<void> {
    const pause = (milliseconds: number) => delay(milliseconds, this.#stopped.signal).catch(() => undefined);
    let attempt = 1;
    while (!this.#stopped.signal.aborted) {
      const isPolling = Date.now() < heldBackUntilMs;
      const outcome = await this.#connect(isPolling || this.#suspicion === 'suspected');
      if (this.#stopped.signal.aborted) return;
      if (outcome === 'up to date' && isPolling) {
        this.connection.value = { state: 'polling' };
        await pause(pollMs);
        continue;
      }
      if (this.#suspect(outcome)) continue;
      if (this.connection.value.state !== 'lost') this.connection.value = { state: 'lost', sinceMs: this.#heardMs };
      attempt = outcome === 'ended' ? 1 : attempt + 1;
      await pause(backOffMs(attempt, maxBackOffMs));
    }
  }

  /** Draws the conclusion of a connection. @returns whether the next one follows at once, to confirm it */
  #suspect(outcome: Outcome): boolean {
    const before = this.#suspicion;
    this.#suspicion = 'none';
    heldBackUntilMs = 0;
    if (outcome === 'up to date') this.#suspicion = 'probable';
    else if (outcome !== 'held back' || before === 'suspected') return false;
    else if (before === 'probable') heldBackUntilMs = Date.now() + heldBackMs;
    else this.#suspicion = 'suspected';
    return true;
  }

  /** Reads one connection to its end. @param isOnce whether it ends when everything up to now has arrived */
  async #connect(isOnce: boolean): Promise<Outcome> {
    this.#attempt = new AbortController();
    this.#startedMs = Date.now();
    this.#hasAnswer = false;
    this.#isSilent = false;
    const outcome = await this.#read(isOnce, this.#attempt.signal).catch((): Outcome => 'failed');
    if (!this.#isSilent) return outcome;
    this.#silences += 1;
    return outcome === 'failed' || this.#silences > 1 ? 'held back' : outcome;
  }

  async #read(isOnce: boolean, signal: AbortSignal): Promise<Outcome> {
    const headers = this.#lastEventId === '' ? {} : { 'last-event-id': this.#lastEventId };
    const query = `${this.#query}${isOnce ? '&once=true' : ''}`;
    const response = await fetch(`${path}?${query}`, { headers, signal, cache: 'no-store' });
    if (response.status === 401) await checkSession();
    // The id is of another version of the platform: the next connection begins with a snapshot.
    if (response.status === 400) this.#lastEventId = '';
    if (!response.ok || !response.body) return 'failed';
    let outcome: Outcome = 'failed';
    try {
      for await (const event of readEvents(response.body, () => this.#hear())) {
        if (signal.aborted) break;
        this.#deliver(event);
        if (!isOnce && outcome === 'failed') this.connection.value = { state: 'live' };
        outcome = 'ended';
      }
      if (isOnce && !signal.aborted) outcome = 'up to date';
    } catch {
      // Cut off: the next connection continues.
    }
    return outcome;
  }

  #hear(): void {
    this.#heardMs = Date.now();
    this.#hasAnswer = true;
    if (this.#heardMs - this.#startedMs > flowsMs) this.#silences = 0;
  }

  #deliver({ event, data, id }: StreamEvent): void {
    if (data !== '') this.#handle({ event, data: JSON.parse(data) } as LiveEvent);
    if (event === 'alarm') alarmChanges.value += 1;
    if (id !== undefined) this.#lastEventId = id;
  }
}
