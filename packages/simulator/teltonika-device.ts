import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { encodeAnswer, readCommand } from '@odograph/codec/teltonika/commands';
import { type AvlCodec, encodeAvlRecords, encodeDatagram, encodeHello } from '@odograph/codec/teltonika/encode';
import { readPacket, wrapPacket } from '@odograph/codec/teltonika/packets';
import type { TelemetryReading } from '@odograph/contracts/telemetry';

/** The device's end of a connection to the platform. */
interface TeltonikaLink {
  readonly isOpen: boolean;
  /** Resolves when it is closed. */
  readonly closed: Promise<void>;
  /** @throws when the platform closes the connection or does not answer */
  sayHello(imei: string): Promise<boolean>;
  /**
   * Sends data fields and waits for their acknowledgements.
   * @returns the acknowledged number of records of each
   * @throws when one is missing
   */
  exchange(fields: readonly Buffer[]): Promise<number[]>;
  write(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** The platform's numeric answers, in the order of the requests. */
class Answers {
  readonly #timeoutMs: number;
  readonly #waiting: { resolve(answer: number): void; reject(error: Error): void }[] = [];
  #end: Error | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  give(answer: number): void {
    this.#waiting.shift()?.resolve(answer);
  }

  /** @throws when it does not come in time, or the connection ends */
  async next(): Promise<number> {
    if (this.#end) throw this.#end;
    const timer = setTimeout(() => this.end(new Error('no answer from the platform')), this.#timeoutMs);
    try {
      return await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Rejects pending and later requests. */
  end(error: Error): void {
    this.#end = error;
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

interface TcpOptions {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly isTls: boolean;
  write(socket: Socket, bytes: Buffer): Promise<void>;
  answer(text: string): string | undefined | Promise<string | undefined>;
}

/** Opens a TCP or TLS connection; any certificate is accepted. @throws when it is refused */
async function openTcpLink(options: TcpOptions): Promise<TeltonikaLink> {
  const { host, port, timeoutMs, isTls, write, answer } = options;
  const socket = isTls ? connectTls({ host, port, rejectUnauthorized: false }) : connect({ host, port });
  await once(socket, isTls ? 'secureConnect' : 'connect');
  socket.setNoDelay(true);
  const answers = new Answers(timeoutMs);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      answers.end(new Error('the connection is closed'));
      resolve();
    });
  });
  socket.on('error', () => undefined);
  const reply = async (command: string): Promise<void> => {
    const text = await answer(command);
    if (text !== undefined && socket.writable) socket.write(encodeAnswer(text));
  };
  const reader = readAnswers(answers, (command) => void reply(command));
  socket.on('data', reader);
  return {
    get isOpen() {
      return !socket.destroyed;
    },
    closed,
    async sayHello(imei) {
      const [answer] = await Promise.all([answers.next(), write(socket, encodeHello(imei))]);
      return answer === 1;
    },
    async exchange(fields) {
      const counts = fields.map(() => answers.next());
      const written = write(socket, Buffer.concat(fields.map(wrapPacket)));
      const [results] = await Promise.all([Promise.all(counts), written]);
      return results;
    },
    write: (bytes) => write(socket, bytes),
    async close() {
      socket.destroy();
      await closed;
    },
  };
}

/** Reads what the platform sends: a byte that answers the hello, then acknowledgements and commands. */
function readAnswers(answers: Answers, onCommand: (text: string) => void): (chunk: Buffer) => void {
  let isGreeted = false;
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    if (!isGreeted) {
      isGreeted = true;
      answers.give(pending.readUInt8(0));
      pending = pending.subarray(1);
    }
    for (let next = readNext(pending); next.bytes > 0; next = readNext(pending)) {
      if (next.count > 0) answers.give(next.count);
      if (next.command !== undefined) onCommand(next.command);
      pending = pending.subarray(next.bytes);
    }
  };
}

/** Reads an acknowledgement or a command. A command begins with four zeros; an acknowledgement is never zero. */
function readNext(pending: Buffer): { bytes: number; count: number; command?: string | undefined } {
  const count = pending.length < 4 ? undefined : pending.readUInt32BE(0);
  if (count === undefined) return { bytes: 0, count: 0 };
  if (count > 0) return { bytes: 4, count };
  const { frame, bytes } = readPacket(pending);
  if (!frame) return { bytes: 0, count };
  return { bytes, count, command: frame.kind === 'packet' ? readCommand(frame.data) : undefined };
}

interface UdpOptions {
  readonly host: string;
  readonly port: number;
  readonly imei: string;
  readonly timeoutMs: number;
}

/** Opens a UDP socket. */
async function openUdpLink({ host, port, imei, timeoutMs }: UdpOptions): Promise<TeltonikaLink> {
  const socket = createSocket('udp4');
  socket.connect(port, host);
  await once(socket, 'connect');
  const waiting = new Map<number, Answers>();
  let packetId = 0;
  let isOpen = true;
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // Nothing listens at the address; the wait for answers times out.
  socket.on('error', () => undefined);
  socket.on('message', (message) => {
    if (message.length === 7) waiting.get(message.readUInt16BE(2))?.give(message.readUInt8(6));
  });
  const exchangeOne = async (data: Buffer): Promise<number> => {
    packetId = (packetId + 1) & 0xffff;
    const id = packetId;
    const answers = new Answers(timeoutMs);
    waiting.set(id, answers);
    const count = answers.next();
    socket.send(encodeDatagram({ packetId: id, avlPacketId: id & 0xff, imei }, data));
    return count.finally(() => waiting.delete(id));
  };
  return {
    get isOpen() {
      return isOpen;
    },
    closed,
    sayHello: async () => true,
    exchange: (fields) => Promise.all(fields.map(exchangeOne)),
    async write(bytes) {
      socket.send(bytes);
    },
    async close() {
      if (isOpen) socket.close();
      isOpen = false;
      await closed;
    },
  };
}

export interface TeltonikaDeviceOptions {
  readonly host: string;
  readonly port: number;
  readonly imei: string;
  /** Default: tcp. */
  readonly transport?: 'tcp' | 'tls' | 'udp';
  /** Default: codec8Extended. */
  readonly codec?: AvlCodec;
  /** At most 255; default: 25, which most devices fit into their packets of 1,280 bytes. */
  readonly recordsPerPacket?: number;
  /** Packets written at once, before the first acknowledgement; default: 1, as devices do. */
  readonly packetsAtOnce?: number;
  /** Default: 5,000. */
  readonly answerTimeoutMs?: number;
  /**
   * How a TCP device writes: at once, in pieces of a few bytes each in a turn of its own, or a byte every 20 ms.
   * Default: whole.
   */
  readonly writes?: 'whole' | 'split' | 'slow';
  /** Answers a command; undefined leaves it without an answer. */
  readonly answer?: (text: string) => string | undefined | Promise<string | undefined>;
}

const reconnectMs = 100;

/**
 * A Teltonika device: says its IMEI, keeps its records until the platform has acknowledged them, sends them again if it has
 * not, and answers commands in Codec 12.
 */
export class TeltonikaDevice {
  readonly #options: TeltonikaDeviceOptions;
  #records: TelemetryReading[] = [];
  #link: TeltonikaLink | undefined;

  constructor(options: TeltonikaDeviceOptions) {
    this.#options = options;
  }

  get bufferedRecords(): number {
    return this.#records.length;
  }

  get isConnected(): boolean {
    return this.#link?.isOpen === true;
  }

  /** Resolves when the connection is closed. */
  get closed(): Promise<void> {
    return this.#link?.closed ?? Promise.resolve();
  }

  /** Adds a record to the buffer. */
  record(reading: TelemetryReading): void {
    this.#records.push(reading);
  }

  /**
   * Connects and says its IMEI. Over UDP, where every packet has the IMEI, there is nothing to say.
   * @returns whether the platform lets it send
   * @throws when the platform closes the connection or does not answer
   */
  async connect(): Promise<boolean> {
    await this.close();
    const { transport, imei, host, port, answer } = this.#options;
    const timeoutMs = this.#options.answerTimeoutMs ?? 5000;
    const link =
      transport === 'udp'
        ? await openUdpLink({ host, port, imei, timeoutMs })
        : await openTcpLink({
            ...{ host, port, timeoutMs, isTls: transport === 'tls', answer: answer ?? (() => undefined) },
            write: (socket, bytes) => writeAs(this.#options.writes ?? 'whole', socket, bytes),
          });
    this.#link = link;
    const isAccepted = await link.sayHello(imei);
    if (!isAccepted) await this.close();
    return isAccepted;
  }

  /**
   * Sends the oldest records and forgets those that are acknowledged.
   * @returns how many were
   * @throws when an acknowledgement does not come; the connection is closed then, and the records are kept
   */
  async send(): Promise<number> {
    const { codec = 'codec8Extended', recordsPerPacket = 25, packetsAtOnce = 1 } = this.#options;
    const parts = Array.from({ length: packetsAtOnce }, (_unused, index) =>
      this.#records.slice(index * recordsPerPacket, (index + 1) * recordsPerPacket),
    ).filter((part) => part.length > 0);
    let acknowledged = 0;
    try {
      const counts = await this.#requireLink().exchange(parts.map((part) => encodeAvlRecords(codec, part)));
      acknowledged = counts.reduce((sum, count) => sum + count, 0);
    } catch (error) {
      await this.close();
      throw error;
    }
    this.#records.splice(0, acknowledged);
    return acknowledged;
  }

  /**
   * Sends all buffered records, reconnecting and resending until every one is acknowledged or the signal aborts.
   * @throws when the platform refuses the IMEI
   */
  async drain(signal?: AbortSignal): Promise<void> {
    while (this.#records.length > 0 && signal?.aborted !== true) {
      const isAccepted = this.isConnected || (await this.connect().catch(() => undefined));
      if (isAccepted === false) throw new Error(`the platform refuses ${this.#options.imei}`);
      const acknowledged = isAccepted ? await this.send().catch(() => 0) : 0;
      if (acknowledged === 0) await delay(reconnectMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Sends the oldest records with a wrong checksum; for TCP. */
  async sendCorrupt(): Promise<void> {
    const { codec = 'codec8Extended', recordsPerPacket = 25 } = this.#options;
    const packet = wrapPacket(encodeAvlRecords(codec, this.#records.slice(0, recordsPerPacket)));
    packet[packet.length - 1] = (packet.at(-1) ?? 0) ^ 0xff;
    await this.write(packet);
  }

  /** Writes any bytes, such as the ping 0xFF. */
  async write(bytes: Buffer): Promise<void> {
    await this.#requireLink().write(bytes);
  }

  async close(): Promise<void> {
    await this.#link?.close();
    this.#link = undefined;
  }

  #requireLink(): TeltonikaLink {
    if (!this.#link) throw new Error('not connected');
    return this.#link;
  }
}

const splitBytes = 7;
const slowByteMs = 20;

/** Writes bytes in the manner of a network: whole, split, or slow. */
async function writeAs(
  manner: NonNullable<TeltonikaDeviceOptions['writes']>,
  socket: { write(bytes: Buffer): unknown; readonly writable: boolean },
  bytes: Buffer,
): Promise<void> {
  if (manner === 'whole') {
    socket.write(bytes);
    return;
  }
  const step = manner === 'split' ? splitBytes : 1;
  for (let at = 0; at < bytes.length && socket.writable; at += step) {
    socket.write(bytes.subarray(at, at + step));
    await (manner === 'split' ? turn() : delay(slowByteMs));
  }
}
