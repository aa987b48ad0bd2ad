import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { type AvlCodec, encodeAvlRecords } from '@odograph/codec/teltonika/encode';
import { wrapPacket } from '@odograph/codec/teltonika/packets';
import type { TelemetryReading } from '@odograph/contracts/telemetry';
import { openTcpLink, openUdpLink, type TeltonikaLink } from './teltonika-link.ts';

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
