import { failureOf, OdographFailure, type Outcome, unreachable } from './failures.ts';
import { backOffMs, delay } from './retry.ts';

/** An event of a server-sent stream (WHATWG HTML, "Server-sent events"). */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  /** Where the stream continues after this event; unchanged when undefined. */
  readonly id: string | undefined;
}

/** Reads the lines of one event. */
function parseEvent(lines: readonly string[]): StreamEvent {
  const fields = lines.map((line): [name: string, value: string] => {
    const [name = ''] = line.split(':', 1);
    return [name, line.slice(name.length + 1).replace(/^ /, '')];
  });
  const valuesOf = (wanted: string) => fields.filter(([name]) => name === wanted).map(([, value]) => value);
  return { event: valuesOf('event').at(-1) ?? 'message', data: valuesOf('data').join('\n'), id: valuesOf('id').at(-1) };
}

/**
 * Reads a stream event by event. EventSource hides heartbeats, so a connection that died while the machine slept looks alive,
 * and it hides why the platform refused it. eventsource-parser drops an id without data, which moves the cursor of the stream.
 * @param onBytes called with every piece, heartbeats included
 */
export async function* readEvents(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<StreamEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      text += decoder.decode(value, { stream: true });
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) yield parseEvent(event.split('\n'));
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** The platform sends at least a heartbeat each 15 s. */
const maxSilenceMs = 40_000;

/** Opens the stream; the data is the body of the answer. */
type Open = (lastEventId: string | undefined, signal: AbortSignal) => Promise<Outcome<ReadableStream | null>>;

/** Tells whether a later attempt may succeed; without an answer, it may. */
const isTemporary = ({ status = 503 }: OdographFailure): boolean => status === 429 || status >= 500;

/**
 * Reads one connection until it ends or falls silent.
 * @throws OdographFailure when it is refused or lost; the reason of an abort
 */
async function* readConnection(open: (signal: AbortSignal) => ReturnType<Open>, signal: AbortSignal) {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hear = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(unreachable('the stream fell silent')), maxSilenceMs);
  };
  hear();
  try {
    const { data, error, response } = await open(AbortSignal.any([signal, silence.signal]));
    if (!data) throw failureOf(response, error);
    yield* readEvents(data, hear);
  } catch (error) {
    signal.throwIfAborted();
    // Any other error while reading is a lost connection.
    throw error instanceof OdographFailure ? error : unreachable(error);
  } finally {
    clearTimeout(timer);
  }
}

export interface StreamCursor {
  /** Continues after this event. */
  readonly lastEventId?: string | undefined;
  /** Ends the iteration, with the reason of the abort. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Follows a stream of events. After its end, an error or silence, it reconnects and continues after the last event that
 * the caller has consumed.
 * @throws OdographFailure when the platform refuses the stream; the reason of an abort
 */
export async function* followEvents<Event>(
  open: Open,
  { lastEventId, signal = new AbortController().signal }: StreamCursor,
): AsyncGenerator<Event> {
  let id = lastEventId;
  for (let attempt = 1; ; attempt += 1) {
    try {
      for await (const { event, data, id: next = id } of readConnection((ended) => open(id, ended), signal)) {
        if (data !== '') yield { id: next, event, data: JSON.parse(data) } as Event;
        id = next;
        attempt = 1;
      }
    } catch (error) {
      if (!(error instanceof OdographFailure) || !isTemporary(error)) throw error;
    }
    await delay(backOffMs(attempt), signal);
  }
}
