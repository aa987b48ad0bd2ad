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

/** Destroys `socket` at a chunk with a faulty packet, before any of that chunk is handed out. */
export function limitPackets(socket: Socket, onRefused: (fault: string) => void): void {
  const read = socket.read.bind(socket);
  const check = checkPackets();
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (!Buffer.isBuffer(chunk)) return chunk;
    const fault = check.next(chunk);
    if (fault === undefined) return chunk;
    onRefused(fault);
    socket.destroy();
    return null;
  };
}
