// A child process that loads a broker over many connections, controlled by messages of its parent.
import type { Socket } from 'node:net';
import { deviceTopic } from '@odograph/contracts/topics';
import { openMqtt, payloadTemplate, publishPacket, timestampOffset } from './mqtt.ts';
import { readSettings, serveParent } from './processes.ts';
import { TimeHistogram } from './report.ts';

export interface GeneratorSettings {
  port: number;
  deviceIds: string[];
  secret: string;
  /** Uploads in flight per connection. */
  inFlight: number;
  /** Readings of an upload. */
  readings: number;
}

export interface LoadPlan {
  uploads: number;
  /** Uploads per second; 0 sends as fast as PUBACKs arrive. */
  rate: number;
  /** Device time of each device's first upload, UNIX milliseconds. */
  firstTimestampMs: number;
  /** Difference between the device times of successive readings of one device; at least 1. */
  stepMs: number;
}

export interface LoadResult {
  /** UNIX milliseconds. */
  firstPublishAtMs: number;
  lastPubackAtMs: number;
  /** From the PUBLISH; of a paced load, from the time it was due. */
  pubackP50Ms: number;
  pubackP99Ms: number;
}

const pubackBytes = 4;
const secondsLength = 10;
const millisecondsLength = 3;
const zero = 0x30;

/** Builds an upload of one reading, or of an array of several. @returns it with the offsets of the timestamps */
function uploadTemplate(variant: number, readings: number): { payload: Buffer; timestampsAt: number[] } {
  const reading = payloadTemplate(variant);
  if (readings === 1) return { payload: reading, timestampsAt: [timestampOffset] };
  const payload = Buffer.from(`[${Array.from({ length: readings }, () => reading.toString()).join(',')}]`);
  const starts = Array.from({ length: readings }, (_unused, index) => 1 + index * (reading.length + 1));
  return { payload, timestampsAt: starts.map((start) => start + timestampOffset) };
}

const { port, deviceIds, secret, inFlight, readings } = readSettings<GeneratorSettings>();
let histogram = new TimeHistogram();

/**
 * One connection of the load. Packets are encoded once, one per slot in flight; sending one writes thirteen digits of
 * timestamp and passes a slice of the same buffer to the socket. The PUBACK frees the slot.
 */
class Publisher {
  readonly #socket: Socket;
  readonly #packets: Buffer;
  readonly #packetBytes: number;
  readonly #timestampsAt: readonly number[];
  readonly #sentAt = new Float64Array(inFlight);
  #place = 0;
  #inFlight = 0;
  #uploads = 0;
  #sent = 0;
  #firstTimestampMs = 0;
  #stepMs = 1;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, topic: string, seed: number) {
    const packets = Array.from({ length: inFlight }, (_, place) =>
      publishPacket(topic, place + 1, uploadTemplate(seed + place, readings).payload),
    );
    this.#socket = socket;
    this.#packets = Buffer.concat(packets);
    this.#packetBytes = packets[0]?.length ?? 0;
    if (packets.some(({ length }) => length !== this.#packetBytes)) throw new Error('payloads differ in length');
    const { payload, timestampsAt } = uploadTemplate(seed, readings);
    this.#timestampsAt = timestampsAt.map((at) => this.#packetBytes - payload.length + at);
  }

  assign(uploads: number, { firstTimestampMs, stepMs }: LoadPlan): void {
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

  /** Processes received PUBACKs; the last may be incomplete. @returns the number of complete ones */
  receive(chunk: Buffer): number {
    const now = performance.now();
    const pubacks = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const count = Math.floor(pubacks.length / pubackBytes);
    for (let index = 0; index < count; index += 1) {
      const place = pubacks.readUInt16BE(index * pubackBytes + 2) - 1;
      histogram.record(now - (this.#sentAt[place] ?? now));
    }
    this.#rest = pubacks.subarray(count * pubackBytes);
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

let left = 0;
let paced = false;
let done: () => void = () => undefined;

async function connectPublisher(deviceId: string, index: number): Promise<Publisher> {
  const socket = await openMqtt({ port, clientId: deviceId, password: secret }, () => undefined);
  socket.removeAllListeners('data');
  const publisher = new Publisher(socket, deviceTopic(deviceId, 'telemetry'), index * inFlight);
  socket.on('data', (chunk: Buffer) => {
    left -= publisher.receive(chunk);
    if (!paced) publisher.sendAll();
    if (left === 0) done();
  });
  socket.once('close', () => {
    throw new Error('the broker closed a connection of the load generator');
  });
  return publisher;
}

const publishers = await Promise.all(deviceIds.map(connectPublisher));

/** Sends at a constant rate (open loop): the latency of a delayed upload counts from the time it was due. */
function pace({ uploads, rate }: LoadPlan): void {
  const start = performance.now();
  let sent = 0;
  let next = 0;
  const timer = setInterval(() => {
    const due = Math.min(uploads, Math.floor(((performance.now() - start) * rate) / 1000));
    for (let refused = 0; sent < due && refused < publishers.length; next = (next + 1) % publishers.length) {
      if (publishers[next]?.sendOne(start + (sent * 1000) / rate)) {
        sent += 1;
        refused = 0;
      } else refused += 1;
    }
    if (sent === uploads) clearInterval(timer);
  }, 1);
}

async function load(plan: LoadPlan): Promise<LoadResult> {
  const { uploads, rate } = plan;
  histogram = new TimeHistogram();
  left = uploads;
  paced = rate > 0;
  for (const [index, publisher] of publishers.entries()) {
    const share = Math.floor(uploads / publishers.length) + (index < uploads % publishers.length ? 1 : 0);
    publisher.assign(share, plan);
  }
  const finished = new Promise<void>((resolve) => {
    done = resolve;
  });
  const firstPublishAtMs = performance.timeOrigin + performance.now();
  if (paced) pace(plan);
  else for (const publisher of publishers) publisher.sendAll();
  await finished;
  return {
    firstPublishAtMs,
    lastPubackAtMs: performance.timeOrigin + performance.now(),
    pubackP50Ms: histogram.quantile(0.5),
    pubackP99Ms: histogram.quantile(0.99),
  };
}

serveParent({ load });
