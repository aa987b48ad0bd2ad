import { crc16 } from './crc16.ts';

/**
 * The stream of a TCP device, as Teltonika's "Teltonika Data Sending Protocols" describes it: its IMEI, then packets, and
 * between them a single 0xFF that keeps the connection open.
 */
export type Frame =
  | { kind: 'imei'; imei: string }
  /** Several in a row are one frame. */
  | { kind: 'ping'; count: number }
  /** `data` reaches from the codec id to the second count. */
  | { kind: 'packet'; data: Buffer };

/** Why bytes are no frame; the connection cannot be read on after it. */
export type FrameFault = 'NOT_TELTONIKA' | 'INVALID_IMEI' | 'TOO_LARGE' | 'WRONG_CHECKSUM' | 'WRONG_COUNT';

export interface FrameResult {
  /** Undefined when the frame is not complete. */
  frame?: Frame;
  fault?: FrameFault;
  /** How many bytes of the buffer belong to the frame; of one that is not complete, how many it needs at least. */
  bytes: number;
}

/** Bytes of a data field. Devices send at most 1,280 bytes, and answers with files a few thousand. */
export const maximumDataBytes = 64 * 1024;

const headerBytes = 8;
const checksumBytes = 4;
const ping = 0xff;
const imeiLength = 15;
const imeiPattern = /^\d{15}$/;

/** Reads the hello of a device: the length of its IMEI in two bytes, then the IMEI in ASCII. Pings may precede it. */
export function readHello(buffer: Buffer): FrameResult {
  if (buffer[0] === ping) return readPings(buffer);
  if (buffer.length > 0 && buffer[0] !== 0) return { fault: 'INVALID_IMEI', bytes: 0 };
  if (buffer.length < 2) return { bytes: 2 };
  const length = buffer.readUInt16BE(0);
  if (length !== imeiLength) return { fault: 'INVALID_IMEI', bytes: 0 };
  if (buffer.length < 2 + length) return { bytes: 2 + length };
  const imei = buffer.toString('latin1', 2, 2 + length);
  return imeiPattern.test(imei)
    ? { frame: { kind: 'imei', imei }, bytes: 2 + length }
    : { fault: 'INVALID_IMEI', bytes: 0 };
}

function readPings(buffer: Buffer): FrameResult {
  let count = 1;
  while (buffer[count] === ping) count += 1;
  return { frame: { kind: 'ping', count }, bytes: count };
}

/** Reads what follows the hello: the next packet, pings, or the hello again. */
export function readPacket(buffer: Buffer): FrameResult {
  if (buffer.length === 0) return { bytes: 1 };
  if (buffer[0] === ping) return readPings(buffer);
  if (buffer[0] === 0 && buffer[1] === imeiLength) return readHello(buffer);
  for (let at = 0; at < Math.min(4, buffer.length); at += 1) {
    if (buffer[at] !== 0) return { fault: 'NOT_TELTONIKA', bytes: 0 };
  }
  if (buffer.length < headerBytes) return { bytes: headerBytes };
  const length = buffer.readUInt32BE(4);
  if (length > maximumDataBytes) return { fault: 'TOO_LARGE', bytes: 0 };
  const end = headerBytes + length + checksumBytes;
  if (buffer.length < end) return { bytes: end };
  const data = buffer.subarray(headerBytes, headerBytes + length);
  if (crc16(data) !== buffer.readUInt32BE(headerBytes + length)) return { fault: 'WRONG_CHECKSUM', bytes: end };
  if (length < 3 || data[1] !== data[length - 1]) return { fault: 'WRONG_COUNT', bytes: end };
  return { frame: { kind: 'packet', data }, bytes: end };
}

/** A UDP packet: its ids are repeated in the answer. */
export interface Datagram {
  packetId: number;
  avlPacketId: number;
  imei: string;
  data: Buffer;
}

/** Reads a UDP packet; undefined when it is none. It has no checksum of its own. */
export function readDatagram(datagram: Buffer): Datagram | undefined {
  if (datagram.length < 11 || datagram.readUInt16BE(0) !== datagram.length - 2) return undefined;
  const imeiEnd = 8 + datagram.readUInt16BE(6);
  const imei = datagram.toString('latin1', 8, imeiEnd);
  const data = datagram.subarray(imeiEnd);
  if (!imeiPattern.test(imei) || data.length < 3 || data[1] !== data.at(-1)) return undefined;
  return { packetId: datagram.readUInt16BE(2), avlPacketId: datagram.readUInt8(5), imei, data };
}

/** The answer to a TCP packet of AVL records: how many were stored. */
export function acknowledgeRecords(count: number): Buffer {
  const answer = Buffer.alloc(4);
  answer.writeUInt32BE(count);
  return answer;
}

/** The answer to a UDP packet of AVL records. */
export function acknowledgeDatagram({ packetId, avlPacketId }: Datagram, count: number): Buffer {
  const answer = Buffer.from([0, 5, 0, 0, 1, avlPacketId, count]);
  answer.writeUInt16BE(packetId, 2);
  return answer;
}

/** The answer to a hello: whether the device may send. */
export function answerHello(accepted: boolean): Buffer {
  return Buffer.from([accepted ? 1 : 0]);
}

/** Wraps a data field, from codec id to second count, into a TCP packet. */
export function wrapPacket(data: Buffer): Buffer {
  const packet = Buffer.alloc(headerBytes + data.length + checksumBytes);
  packet.writeUInt32BE(data.length, 4);
  data.copy(packet, headerBytes);
  packet.writeUInt32BE(crc16(data), headerBytes + data.length);
  return packet;
}
