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
