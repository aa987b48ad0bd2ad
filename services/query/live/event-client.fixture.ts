import { once } from 'node:events';
import { type ClientRequest, get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { eventually } from '@odograph/testkit/eventually';
import Type from 'typebox';
import Value from 'typebox/value';
import { type LiveCell, type LiveCommand, LiveEvent, type LiveVehicle, listedEvents } from './schemas.ts';

const AnyEvent = Type.Union([...LiveEvent.anyOf, ...listedEvents]);

interface ReceivedEvent {
  readonly id: string | undefined;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read events of any shape
  readonly data: any;
}

/** The state of a browser, built from the events that it has received. */
export class BrowserState {
  readonly vehicles = new Map<string, LiveVehicle>();
  readonly cells = new Map<string, LiveCell>();
  readonly commands: LiveCommand[] = [];
  readonly alarms: ReceivedEvent['data'][] = [];
  mode = '';
  isComplete = false;

  apply(event: string, data: ReceivedEvent['data']): void {
    Value.Assert(AnyEvent, { event, data });
    if (event === 'reset') {
      this.vehicles.clear();
      this.cells.clear();
      this.mode = data.mode;
      this.isComplete = false;
    }
    if (event === 'snapshot') this.isComplete = data.complete;
    for (const vehicle of data.vehicles ?? []) this.vehicles.set(vehicle.id, vehicle);
    for (const id of data.left ?? []) this.vehicles.delete(id);
    for (const cell of data.cells ?? []) {
      if (cell.count > 0) this.cells.set(cell.id, cell);
      else this.cells.delete(cell.id);
    }
    if (event === 'command') this.commands.push(data);
    if (event === 'alarm') this.alarms.push(data);
  }
}

/** A client of the live stream that reconnects as EventSource does, with the id of the last event. */
export class EventClient {
  readonly events: ReceivedEvent[] = [];
  readonly state = new BrowserState();
  /** Everything received, as text. */
  text = '';
  status = 0;
  headers: IncomingHttpHeaders = {};
  lastEventId: string | undefined;
  hasEnded = false;
  readonly #url: URL;
  readonly #headers: Record<string, string>;
  #request: ClientRequest | undefined;

  constructor(httpUrl: string, query: string, headers: Record<string, string>) {
    this.#url = new URL(`/v1/x/events${query}`, httpUrl);
    this.#headers = headers;
  }

  /** Opens the stream; resolves with the headers of the answer. */
  async open(): Promise<this> {
    this.hasEnded = false;
    const headers = { ...this.#headers, ...(this.lastEventId && { 'last-event-id': this.lastEventId }) };
    this.#request = get(this.#url, { headers, agent: false });
    const [response] = (await once(this.#request, 'response')) as [IncomingMessage];
    this.#request.on('error', () => undefined);
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    const reading = this.#read(response);
    if (this.status !== 200) await reading;
    return this;
  }

  /** Sends the next request to another address. */
  moveTo(httpUrl: string): void {
    this.#url.host = new URL(httpUrl).host;
  }

  close(): void {
    this.#request?.destroy();
  }

  named(event: string): ReceivedEvent[] {
    return this.events.filter((received) => received.event === event);
  }

  /** Waits until what the browser shows fulfils a condition. */
  async until(condition: (state: BrowserState) => boolean, timeoutMs = 10_000): Promise<void> {
    await eventually(async () => {
      if (!condition(this.state)) throw new Error(`not in time; received ${this.text.slice(-2000)}`);
    }, timeoutMs);
  }

  async #read(response: IncomingMessage): Promise<void> {
    response.setEncoding('utf8');
    let rest = '';
    try {
      for await (const text of response as AsyncIterable<string>) {
        this.text += text;
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#dispatch(block);
      }
    } catch {
      // Closed by the test, or cut.
    }
    this.hasEnded = true;
  }

  /** WHATWG HTML, "Interpreting an event stream". */
  #dispatch(block: string): void {
    const fields = block.split('\n').map((line) => {
      const [name = '', ...value] = line.split(':');
      return [name, value.join(':').replace(/^ /, '')] as const;
    });
    const find = (name: string) => fields.find(([field]) => field === name)?.[1];
    this.lastEventId = find('id') ?? this.lastEventId;
    const [event, text] = [find('event'), find('data')];
    if (event === undefined || text === undefined) return;
    const data = JSON.parse(text);
    this.events.push({ id: find('id'), event, data });
    this.state.apply(event, data);
  }
}
