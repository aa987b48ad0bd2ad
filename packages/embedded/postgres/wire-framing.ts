/** The largest message accepted after startup; PostgreSQL accepts 1 GiB. */
const maximumMessageBytes = 256 * 1024 * 1024;
const maximumStartupBytes = 10_000;

/** Thrown for bytes that are no valid message; the connection cannot continue. */
export class WireFormatError extends Error {}

/** Builds a message from its type byte and body. */
export function wireMessage(type: string, ...body: Buffer[]): Buffer {
  const header = Buffer.alloc(5);
  header.write(type, 0, 'latin1');
  header.writeInt32BE(
    body.reduce((sum, part) => sum + part.length, 4),
    1,
  );
  return Buffer.concat([header, ...body]);
}

/** Calls `visit` for each whole message of a response, with its type and its start and end offset. */
export function forEachMessage(response: Buffer, visit: (type: string, start: number, end: number) => void): void {
  let start = 0;
  while (start + 5 <= response.length) {
    const end = start + 1 + response.readInt32BE(start + 1);
    visit(String.fromCharCode(response[start] ?? 0), start, end);
    start = end;
  }
}

/**
 * Splits the byte stream of one client into whole messages, header included
 * (PostgreSQL, "Frontend/Backend Protocol", "Message Formats").
 */
export class WireFramer {
  #chunks: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** The next startup-phase packet (length first, no type byte), or undefined. @throws WireFormatError */
  nextStartupPacket(): Buffer | undefined {
    const length = this.#join(4)?.readInt32BE(0);
    if (length === undefined) return undefined;
    if (length < 8 || length > maximumStartupBytes) throw new WireFormatError('invalid length of startup packet');
    return this.#take(length);
  }

  /** The next message (type byte, length, body), or undefined. @throws WireFormatError */
  nextMessage(longest = maximumMessageBytes): Buffer | undefined {
    const length = this.#join(5)?.readInt32BE(1);
    if (length === undefined) return undefined;
    if (length < 4 || length > longest) throw new WireFormatError('invalid message length');
    return this.#take(length + 1);
  }

  /** Returns at least the first `count` bytes in one piece, or undefined while fewer have arrived. */
  #join(count: number): Buffer | undefined {
    const [first] = this.#chunks;
    if (first !== undefined && first.length >= count) return first;
    if (this.#bytes < count) return undefined;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #take(count: number): Buffer | undefined {
    const joined = this.#join(count);
    if (joined === undefined) return undefined;
    this.#bytes -= count;
    if (joined.length > count) this.#chunks[0] = joined.subarray(count);
    else this.#chunks.shift();
    return joined.subarray(0, count);
  }
}
