import { ByteQueue } from './byte-queue.ts';

/** The largest message accepted after the startup (PostgreSQL itself stops at 1 GiB). */
export const MAXIMUM_MESSAGE_BYTES = 256 * 1024 * 1024;
const MAXIMUM_STARTUP_BYTES = 10_000;

/** A client that does not speak the protocol; its connection cannot be continued. */
export class WireFormatError extends Error {}

/**
 * Cuts the bytes of one client into whole messages, header included
 * (PostgreSQL, "Frontend/Backend Protocol", "Message Formats").
 */
export class WireFramer {
  private readonly bytes = new ByteQueue();

  push(chunk: Buffer): void {
    this.bytes.append(chunk);
  }

  /** The next startup-phase packet (length first, no type byte), or undefined. Throws WireFormatError. */
  nextStartupPacket(): Buffer | undefined {
    const header = this.bytes.peek(4);
    if (header === undefined) return undefined;
    const length = header.readInt32BE(0);
    if (length < 8 || length > MAXIMUM_STARTUP_BYTES) throw new WireFormatError('invalid length of startup packet');
    return this.bytes.take(length);
  }

  /** The next message (type byte, length, body), or undefined. Throws WireFormatError. */
  nextMessage(): Buffer | undefined {
    const header = this.bytes.peek(5);
    if (header === undefined) return undefined;
    const length = header.readInt32BE(1);
    if (length < 4 || length > MAXIMUM_MESSAGE_BYTES) throw new WireFormatError('invalid message length');
    return this.bytes.take(length + 1);
  }
}
