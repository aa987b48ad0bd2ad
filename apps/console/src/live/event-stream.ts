/** An event of a server-sent stream (WHATWG HTML, "Server-sent events"). */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  /** Where the stream continues after this event; unchanged when undefined. */
  readonly id: string | undefined;
}

/** Collects the fields of one event. */
class EventFields {
  #event = 'message';
  #data: string[] = [];
  #id: string | undefined;

  add(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#event = value;
    if (name === 'data') this.#data.push(value);
    if (name === 'id') this.#id = value;
  }

  take(): StreamEvent {
    const taken = { event: this.#event, data: this.#data.join('\n'), id: this.#id };
    this.#event = 'message';
    this.#data = [];
    this.#id = undefined;
    return taken;
  }
}

/**
 * Reads a stream event by event. EventSource would do it, but hides heartbeats, so a connection that died while the machine
 * slept looks alive, and it hides why the platform refused it.
 * @param onBytes called with every piece, heartbeats included
 */
export async function* readEvents(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<StreamEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  const fields = new EventFields();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line === '') yield fields.take();
        else if (!line.startsWith(':')) fields.add(line);
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
