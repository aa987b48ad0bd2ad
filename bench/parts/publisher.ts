import type { Socket } from 'node:net';
import { publishPacket } from './mqtt.ts';
import { uploadTemplate } from './payloads.ts';
import type { TimeHistogram } from './statistics.ts';

const pubackBytes = 4;
const secondsLength = 10;
const millisecondsLength = 3;
const zero = 0x30;

/** Properties that all uploads of a connection share. */
interface UploadShape {
  topic: string;
  seed: number;
  inFlight: number;
  /** Readings of an upload. */
  readings: number;
}

/** The uploads of one connection. */
export interface Assignment {
  uploads: number;
  /** Device time of the first upload, UNIX milliseconds. */
  firstTimestampMs: number;
  /** Difference between the device times of successive readings; at least 1. */
  stepMs: number;
}

/**
 * One connection of the load. Packets are encoded once, one per slot in flight; sending one writes thirteen digits of
 * timestamp and passes a slice of the same buffer to the socket. The PUBACK frees the slot.
 */
export class Publisher {
  readonly #socket: Socket;
  readonly #packets: Buffer;
  readonly #packetBytes: number;
  readonly #timestampsAt: readonly number[];
  readonly #sentAt: Float64Array;
  readonly #histogram: Pick<TimeHistogram, 'record'>;
  #place = 0;
  #inFlight = 0;
  #uploads = 0;
  #sent = 0;
  #firstTimestampMs = 0;
  #stepMs = 1;
  #bytesOfPuback = 0;
  #packetId = 0;

  constructor(
    socket: Socket,
    { topic, seed, inFlight, readings }: UploadShape,
    histogram: Pick<TimeHistogram, 'record'>,
  ) {
    const packets = Array.from({ length: inFlight }, (_, place) =>
      publishPacket(topic, place + 1, uploadTemplate(seed + place, readings).payload),
    );
    this.#socket = socket;
    this.#packets = Buffer.concat(packets);
    this.#packetBytes = packets[0]?.length ?? 0;
    if (packets.some(({ length }) => length !== this.#packetBytes)) throw new Error('payloads differ in length');
    const { payload, timestampsAt } = uploadTemplate(seed, readings);
    this.#timestampsAt = timestampsAt.map((at) => this.#packetBytes - payload.length + at);
    this.#sentAt = new Float64Array(inFlight);
    this.#histogram = histogram;
  }

  assign({ uploads, firstTimestampMs, stepMs }: Assignment): void {
    this.#uploads = uploads;
    this.#firstTimestampMs = firstTimestampMs;
    this.#stepMs = stepMs;
    this.#sent = 0;
  }

  get #free(): number {
    return Math.min(this.#sentAt.length - this.#inFlight, this.#uploads - this.#sent);
  }

  /** Sends one upload that was due at `dueMs`. @returns false when no slot is free */
  sendOne(dueMs: number): boolean {
    if (this.#free === 0) return false;
    this.#send(1, dueMs);
    return true;
  }

  /** Fills all free slots. */
  sendAll(): void {
    const toEnd = this.#sentAt.length - this.#place;
    const free = this.#free;
    if (free === 0) return;
    const now = performance.now();
    this.#send(Math.min(free, toEnd), now);
    if (free > toEnd) this.#send(free - toEnd, now);
  }

  /** Processes received PUBACKs. @returns their number */
  receive(chunk: Buffer): number {
    const now = performance.now();
    let count = 0;
    for (const byte of chunk) {
      if (this.#bytesOfPuback >= 2) this.#packetId = this.#packetId * 256 + byte;
      this.#bytesOfPuback += 1;
      if (this.#bytesOfPuback < pubackBytes) continue;
      this.#histogram.record(now - (this.#sentAt[this.#packetId - 1] ?? now));
      this.#bytesOfPuback = 0;
      this.#packetId = 0;
      count += 1;
    }
    this.#inFlight -= count;
    return count;
  }

  /** Sends adjacent slots in one write. */
  #send(count: number, dueMs: number): void {
    const start = this.#place * this.#packetBytes;
    for (let index = 0; index < count; index += 1) {
      this.#writeTimestamps(start + index * this.#packetBytes);
      this.#sentAt[this.#place + index] = dueMs;
    }
    this.#place = (this.#place + count) % this.#sentAt.length;
    this.#inFlight += count;
    this.#socket.write(this.#packets.subarray(start, start + count * this.#packetBytes));
  }

  #writeTimestamps(start: number): void {
    for (const [index, at] of this.#timestampsAt.entries()) {
      const reading = this.#sent * this.#timestampsAt.length + index;
      const milliseconds = Math.floor(this.#firstTimestampMs + reading * this.#stepMs);
      this.#writeDigits(start + at, secondsLength, Math.floor(milliseconds / 1000));
      this.#writeDigits(start + at + secondsLength + 1, millisecondsLength, milliseconds % 1000);
    }
    this.#sent += 1;
  }

  #writeDigits(at: number, length: number, value: number): void {
    let left = value;
    for (let digit = length - 1; digit >= 0; digit -= 1) {
      this.#packets[at + digit] = zero + (left % 10);
      left = Math.floor(left / 10);
    }
  }
}
