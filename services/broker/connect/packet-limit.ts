import type { Socket } from 'node:net';
import { maximumPacketBytes } from '@odograph/contracts/telemetry';

const publishType = 3;
/** Topic, packet identifier and the rest of the variable header of a PUBLISH that its device may send. */
const publishHeaderBytes = 256;
const maximumPublishBytes = maximumPacketBytes + publishHeaderBytes;
/** All other packets; also the first one of a connection, whatever its type. */
const maximumOtherBytes = 16 * 1024;
const longestLengthBytes = 4;

/** Checks a stream of MQTT packets, chunk by chunk. */
export interface PacketCheck {
  /** Checks the next chunk. @returns the fault of a packet in it, or undefined */
  next(chunk: Buffer): string | undefined;
}

/**
 * Reads only the fixed headers [MQTT-2.2] of a byte stream, wherever its chunks begin, and finds a packet that announces
 * more than its maximum before any of it is buffered, or whose length takes more than four bytes.
 */
export function checkPackets(): PacketCheck {
  let first = true;
  let inHeader = false;
  let maximum = 0;
  let length = 0;
  let lengthBytes = 0;
  let bodyBytesLeft = 0;

  const readLengthByte = (byte: number): string | undefined => {
    length += (byte & 0x7f) * 128 ** lengthBytes;
    lengthBytes += 1;
    if (length > maximum) return `a packet of ${length} bytes or more`;
    if (byte < 0x80) {
      bodyBytesLeft = length;
      inHeader = false;
      first = false;
    } else if (lengthBytes === longestLengthBytes) return 'a malformed remaining length';
    return undefined;
  };

  const startPacket = (byte: number): void => {
    maximum = byte >> 4 === publishType && !first ? maximumPublishBytes : maximumOtherBytes;
    inHeader = true;
    length = 0;
    lengthBytes = 0;
  };

  return {
    next(chunk) {
      let position = 0;
      while (position < chunk.length) {
        if (bodyBytesLeft > 0) {
          const skipped = Math.min(bodyBytesLeft, chunk.length - position);
          bodyBytesLeft -= skipped;
          position += skipped;
          continue;
        }
        const byte = chunk[position++] ?? 0;
        if (!inHeader) startPacket(byte);
        else {
          const fault = readLengthByte(byte);
          if (fault !== undefined) return fault;
        }
      }
      return undefined;
    },
  };
}

export interface PacketLimitOptions {
  /** Milliseconds for which nothing may be read from the socket; 0 when it may. */
  waitMs(): number;
  onBytes(bytes: number): void;
  /** Called when the socket has to wait. */
  onPause(): void;
  /** Reads on after a wait. */
  resume(): void;
  /** The socket sent an invalid packet and was destroyed. */
  onRefused(fault: string): void;
}

/**
 * Destroys a socket at a chunk with an invalid packet, before any of that chunk is handed out, and hands out nothing while
 * its device has to wait: TCP then stops the sender.
 */
export function limitPackets(socket: Socket, options: PacketLimitOptions): void {
  const read = socket.read.bind(socket);
  const check = checkPackets();
  let timer: NodeJS.Timeout | undefined;
  const isWaiting = (): boolean => {
    const waitMs = options.waitMs();
    if (waitMs === 0) return false;
    if (timer !== undefined) return true;
    options.onPause();
    timer = setTimeout(() => {
      timer = undefined;
      options.resume();
    }, waitMs);
    return true;
  };
  socket.once('close', () => clearTimeout(timer));
  socket.read = (size?: number): unknown => {
    // A read of 0 bytes only fills the buffer of the stream, up to its limit.
    if (size !== 0 && isWaiting()) return null;
    const chunk: unknown = read(size);
    if (!Buffer.isBuffer(chunk)) return chunk;
    options.onBytes(chunk.length);
    const fault = check.next(chunk);
    if (fault === undefined) return chunk;
    options.onRefused(fault);
    socket.destroy();
    return null;
  };
}
