import type { Socket } from 'node:net';
import { maximumPacketBytes } from '@odograph/contracts/telemetry';
import type { RefusalReason } from '../sessions/metrics.ts';
import type { DeviceSession } from '../sessions/session-registry.ts';

const publishType = 3;
/** PUBACK, PUBREC and PUBCOMP: the answers to a message of the platform [MQTT-4.3]. */
const acknowledgementTypes = new Set([4, 5, 7]);
/** The cost of a packet grows with its length, as that of a SUBSCRIBE does with its topics. */
const bytesPerCountedPacket = 64;
/** A SUBSCRIBE or UNSUBSCRIBE costs as much as ten other packets. */
const subscriptionTypes = new Set([8, 10]);
const subscriptionCost = 10;
/** Topic, packet identifier and the rest of the variable header of a PUBLISH that its device may send. */
const publishHeaderBytes = 256;
const maximumPublishBytes = maximumPacketBytes + publishHeaderBytes;
/** All other packets; also the first one of a connection, whatever its type. */
const maximumOtherBytes = 16 * 1024;
const maxLengthBytes = 4;

/** Counts of packets other than PUBLISH. */
export interface PacketCounts {
  acknowledgements: number;
  /** One for each 64 bytes or part of them; ten in a SUBSCRIBE or UNSUBSCRIBE. */
  others: number;
}

/** Checks a stream of MQTT packets, chunk by chunk. */
export interface PacketCheck {
  /** Counts packets whose headers were checked; the caller may reset them. */
  readonly counts: PacketCounts;
  /** Checks the next chunk. @returns the fault of a packet in it, or undefined */
  next(chunk: Buffer): string | undefined;
}

/**
 * Reads only the fixed headers [MQTT-2.2] of a byte stream, wherever its chunks begin, and finds a packet that announces
 * more than its maximum before any of it is buffered, or whose length takes more than four bytes.
 */
export function checkPackets(): PacketCheck {
  const counts: PacketCounts = { acknowledgements: 0, others: 0 };
  let first = true;
  let type = 0;
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
      countPacket(counts, type, length);
    } else if (lengthBytes === maxLengthBytes) return 'a malformed remaining length';
    return undefined;
  };

  const startPacket = (byte: number): void => {
    type = byte >> 4;
    maximum = type === publishType && !first ? maximumPublishBytes : maximumOtherBytes;
    inHeader = true;
    length = 0;
    lengthBytes = 0;
  };

  return {
    counts,
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

/** Packets that a client may send after its CONNECT without waiting for CONNACK [MQTT-3.1.4-5]. */
export const maximumPacketsBeforeConnack = 1000;
/** Cost of an acknowledgement without a message: a device that repeats a few is only delayed. */
const unexpectedAcknowledgementCost = 100;

/**
 * Charges packets to their session. Until there is one, they stay counted. The acknowledgements of messages that the
 * platform sent are free.
 * @returns why the session must end, or undefined
 */
export function chargePackets(session: DeviceSession | undefined, counts: PacketCounts): RefusalReason | undefined {
  const { acknowledgements, others } = counts;
  if (!session) return acknowledgements + others > maximumPacketsBeforeConnack ? 'packet_rate' : undefined;
  counts.acknowledgements = 0;
  counts.others = 0;
  const expected = Math.min(acknowledgements, session.unacknowledgedMessages);
  session.unacknowledgedMessages -= expected;
  const unexpected = acknowledgements - expected;
  const cost = others + unexpected * unexpectedAcknowledgementCost;
  if (session.throttle.takePackets(cost, performance.now())) return undefined;
  return unexpected > 0 ? 'unexpected_acknowledgements' : 'packet_rate';
}

function countPacket(counts: PacketCounts, type: number, bodyBytes: number): void {
  if (type === publishType) return;
  if (acknowledgementTypes.has(type)) counts.acknowledgements += 1;
  else
    counts.others +=
      Math.ceil((bodyBytes + 1) / bytesPerCountedPacket) * (subscriptionTypes.has(type) ? subscriptionCost : 1);
}

export interface PacketLimitOptions {
  /** Milliseconds for which nothing may be read from the socket; 0 when it may. */
  waitMs(): number;
  onBytes(bytes: number): void;
  /** Charges the counted packets to the session. @returns why the socket must be destroyed, or undefined */
  charge(counts: PacketCounts): RefusalReason | undefined;
  /** Called when the socket has to wait. */
  onPause(): void;
  /** Reads on after a wait. */
  resume(): void;
  /** Called before the socket is destroyed. @param fault of an invalid packet */
  onRefused(reason: RefusalReason, fault?: string): void;
}

/**
 * Destroys a socket at a chunk with an invalid packet or too many packets, before any of that chunk is handed out, and hands out nothing while
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
    const reason = fault === undefined ? options.charge(check.counts) : 'packet';
    if (reason === undefined) return chunk;
    options.onRefused(reason, fault);
    socket.destroy();
    return null;
  };
}
