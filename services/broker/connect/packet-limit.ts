import type { Socket } from 'node:net';
import { maximumPacketBytes } from '@odograph/contracts/telemetry';

const publishType = 3;
/** Topic, packet identifier and the rest of the variable header of a PUBLISH that its device may send. */
const publishHeaderBytes = 256;
const maximumPublishBytes = maximumPacketBytes + publishHeaderBytes;
/** CONNECT, SUBSCRIBE and all others; also whatever an unknown client sends first. */
const maximumOtherBytes = 16 * 1024;
const longestLengthBytes = 4;

/** Walks over a stream of MQTT packets, chunk by chunk. */
export interface PacketWalk {
  /** What is wrong with the stream up to the end of this chunk; undefined while nothing is. */
  next(chunk: Buffer): string | undefined;
}

/**
 * Reads nothing but the fixed headers [MQTT-2.2] of a byte stream, wherever chunks cut it, and tells of a packet that
 * announces more than it may have before any of it is buffered, or whose length has more than four bytes.
 */
export function walkPackets(): PacketWalk {
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

/** Lets `socket` hand out nothing of a chunk in which a packet goes wrong, and destroys it instead. */
export function limitPackets(socket: Socket, onRefused: (fault: string) => void): void {
  const read = socket.read.bind(socket);
  const walk = walkPackets();
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (!Buffer.isBuffer(chunk)) return chunk;
    const fault = walk.next(chunk);
    if (fault === undefined) return chunk;
    onRefused(fault);
    socket.destroy();
    return null;
  };
}
