/** The largest message accepted after startup; PostgreSQL accepts 1 GiB. */
export const maximumMessageBytes = 256 * 1024 * 1024;
const maximumStartupBytes = 10_000;

/** Thrown for bytes that are no valid message; the connection cannot continue. */
export class WireFormatError extends Error {}

/** Received bytes that are not consumed yet; reads whole messages regardless of how the stream was split. */
class ByteQueue {
  #chunks: Buffer[] = [];
  #total = 0;

  append(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#total += chunk.length;
  }

  /** The first `count` bytes without consuming them, or undefined while fewer arrived. */
  peek(count: number): Buffer | undefined {
    if (this.#total < count) return undefined;
    const first = this.#chunks[0];
    if (first !== undefined && first.length >= count) return first.subarray(0, count);
    return this.#join(count).subarray(0, count);
  }

  /** Consumes and returns the first `count` bytes, or undefined while fewer arrived. */
  take(count: number): Buffer | undefined {
    const taken = this.peek(count);
    if (taken === undefined) return undefined;
    this.#total -= count;
    const first = this.#chunks[0];
    if (first !== undefined && first.length > count) this.#chunks[0] = first.subarray(count);
    else this.#chunks.shift();
    return taken;
  }

  #join(count: number): Buffer {
    const parts: Buffer[] = [];
    let joinedBytes = 0;
    while (joinedBytes < count) {
      const chunk = this.#chunks.shift();
      if (chunk === undefined) break;
      parts.push(chunk);
      joinedBytes += chunk.length;
    }
    const joined = Buffer.concat(parts, joinedBytes);
    this.#chunks.unshift(joined);
    return joined;
  }
}

/**
 * Splits the byte stream of one client into whole messages, header included
 * (PostgreSQL, "Frontend/Backend Protocol", "Message Formats").
 */
export class WireFramer {
  readonly #bytes = new ByteQueue();

  push(chunk: Buffer): void {
    this.#bytes.append(chunk);
  }

  /** The next startup-phase packet (length first, no type byte), or undefined. @throws WireFormatError */
  nextStartupPacket(): Buffer | undefined {
    const header = this.#bytes.peek(4);
    if (header === undefined) return undefined;
    const length = header.readInt32BE(0);
    if (length < 8 || length > maximumStartupBytes) throw new WireFormatError('invalid length of startup packet');
    return this.#bytes.take(length);
  }

  /** The next message (type byte, length, body), or undefined. @throws WireFormatError */
  nextMessage(longest = maximumMessageBytes): Buffer | undefined {
    const header = this.#bytes.peek(5);
    if (header === undefined) return undefined;
    const length = header.readInt32BE(1);
    if (length < 4 || length > longest) throw new WireFormatError('invalid message length');
    return this.#bytes.take(length + 1);
  }
}
