import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { isAvlCodec } from '@odograph/codec/teltonika/avl';
import { type DeviceMessage, isCameraFile, readMessages } from '@odograph/codec/teltonika/commands';
import { acknowledgeRecords, answerHello, type Frame, readHello, readPacket } from '@odograph/codec/teltonika/packets';
import { isKnownCodec } from '@odograph/codec/teltonika/upload';
import type { AvlFamily } from '@odograph/contracts/device-models';
import type { Logger } from '@odograph/runtime/logger';
import { type Network, networkOf } from '@odograph/runtime/network-address';
import type { ConnectionLimits } from '@odograph/sessions/connection-limits';
import { type DeviceThrottle, type DeviceThrottles, TokenBucket } from '@odograph/sessions/throttle';
import type { AnswerListener, GatewayDevices, GatewaySession, GatewaySessions } from '../shared/devices.ts';
import type { GatewayMetrics, RefusalReason } from '../shared/metrics.ts';
import type { GatewayUploads, HeldBytes } from '../shared/uploads.ts';
import { findTeltonikaDevice, storeRecords } from './store-records.ts';

/** Shared by the connections of the listeners for Teltonika devices. */
export interface TeltonikaEndpoint {
  readonly devices: GatewayDevices;
  readonly uploads: GatewayUploads;
  readonly held: HeldBytes;
  readonly sessions: GatewaySessions;
  readonly throttles: DeviceThrottles;
  /** Datagrams from other networks are refused; undefined allows all. */
  readonly networks: readonly Network[] | undefined;
  /** By IPv4 address or IPv6 /64, of all its devices together. */
  readonly addresses: DeviceThrottles;
  readonly limits: ConnectionLimits;
  readonly metrics: GatewayMetrics;
  readonly logger: Logger;
}

/** Timeout from the connection to the IMEI of the device. */
const helloTimeoutMs = 10_000;
/** Timeout from the first byte of a packet to its last. */
const packetTimeoutMs = 60_000;

/** Pings of a connection; devices send at most one every few seconds. */
const pingsPerSecond = 10;
const pingBurstSeconds = 10;

/** Reasons for closing a connection, as logged. */
const refusals = {
  hello: 'it does not begin with an IMEI',
  unknown_device: 'no device of a Teltonika model has this IMEI',
  unavailable: 'the database does not answer',
  packet: 'invalid packet',
  codec: 'unsupported codec',
  timeout: 'the packet was not completed in time',
  held_bytes: 'too many bytes wait for Redis',
  budget: 'too many pings',
} as const satisfies Partial<Record<RefusalReason, string>>;
type Refusal = keyof typeof refusals;

let signIns = 0;

/**
 * A TCP connection of a Teltonika device: its IMEI, then packets. While a packet is in flight to the queue, nothing more
 * is read, so a connection holds at most one packet, and TCP flow control throttles the device. A packet is acknowledged
 * once the queue has it on disk; otherwise the connection ends without an answer, and the device sends the packet again.
 */
export class TeltonikaConnection implements GatewaySession {
  readonly #endpoint: TeltonikaEndpoint;
  readonly #socket: Socket;
  readonly #events = new EventEmitter();
  readonly #address: DeviceThrottle;
  readonly #pings = new TokenBucket(pingsPerSecond, pingBurstSeconds, performance.now());
  #deviceId = '';
  #family: AvlFamily | undefined;
  #signInNumber = 0;
  #throttle: DeviceThrottle | undefined;
  #takesAnswer: AnswerListener = () => false;
  /** Whether a command was sent and is not answered yet. */
  #hasCommandInFlight = false;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** Minimum number of bytes to read the next frame. */
  #neededBytes = 1;
  #isReading = false;
  #isRefused = false;
  #isEnding = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(endpoint: TeltonikaEndpoint, socket: Socket) {
    this.#endpoint = endpoint;
    this.#socket = socket;
    this.#address = endpoint.addresses.acquire(networkOf(socket.remoteAddress ?? ''), {}, socket);
    this.#timer = setTimeout(() => this.#refuse('timeout'), helloTimeoutMs);
    socket.on('data', (chunk) => this.#receive(chunk));
    // Every error is followed by a close event, which is handled below.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(this.#timer);
      endpoint.held.release(this.#bytes);
      this.#bytes = 0;
      this.#events.emit('close');
    });
  }

  /** The IMEI; empty until the device has sent it. */
  get deviceId(): string {
    return this.#deviceId;
  }

  get signInNumber(): number {
    return this.#signInNumber;
  }

  send(bytes: Buffer): void {
    this.#hasCommandInFlight = true;
    this.#socket.write(bytes);
  }

  onAnswer(listener: AnswerListener): void {
    this.#takesAnswer = listener;
  }

  onClose(listener: () => void): void {
    this.#events.once('close', listener);
  }

  close(): void {
    if (this.#hasCommandInFlight) this.reset();
    else this.#socket.destroy();
  }

  end(): void {
    this.#isEnding = true;
    if (!this.#isReading) this.#closeSoon();
  }

  reset(): void {
    // A TLS socket cannot be reset, and its closing alert would be sent after the pending data. So reset the TCP
    // connection below it, for which Node.js has no documented property.
    const tcp: unknown = this.#socket instanceof TLSSocket ? Reflect.get(this.#socket, '_parent') : this.#socket;
    if (tcp instanceof Socket) tcp.resetAndDestroy();
    else this.#socket.destroy();
  }

  /** Closes the connection after the pending data, or discards that with a command in flight, which must not arrive late. */
  #closeSoon(): void {
    if (this.#hasCommandInFlight) this.reset();
    else this.#socket.destroySoon();
  }

  #receive(chunk: Buffer): void {
    if (this.#socket.destroyed || this.#isRefused) return;
    if (!this.#endpoint.held.reserve(chunk.length)) {
      this.#refuse('held_bytes');
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#isReading && this.#bytes >= this.#neededBytes) void this.#readFrames();
  }

  /** Handles frames up to the first incomplete one. */
  async #readFrames(): Promise<void> {
    this.#isReading = true;
    for (let next = this.#takeFrame(); next; next = this.#takeFrame()) {
      // Pings do not extend the timeout of the hello.
      if (next.frame.kind !== 'ping') {
        clearTimeout(this.#timer);
        this.#timer = undefined;
      }
      await this.#handle(next.frame);
      await this.#pay(next.bytes);
    }
    this.#isReading = false;
    if (this.#isEnding) this.#closeSoon();
    else if (this.#bytes > 0) this.#timer ??= setTimeout(() => this.#refuse('timeout'), packetTimeoutMs);
  }

  /** Takes the next frame from the received bytes; undefined if it is incomplete or the connection is closed. */
  #takeFrame(): { frame: Frame; bytes: number } | undefined {
    if (this.#socket.destroyed || this.#isRefused || this.#isEnding || this.#bytes < this.#neededBytes)
      return undefined;
    const buffer = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const { frame, fault, bytes } = this.#deviceId === '' ? readHello(buffer) : readPacket(buffer);
    if (fault) this.#refuse(fault === 'INVALID_IMEI' ? 'hello' : 'packet', fault);
    this.#chunks = [frame ? buffer.subarray(bytes) : buffer];
    this.#neededBytes = frame ? 1 : bytes;
    if (!frame) return undefined;
    this.#bytes -= bytes;
    this.#endpoint.held.release(bytes);
    return { frame, bytes };
  }

  async #handle(frame: Frame): Promise<void> {
    if (frame.kind === 'ping') {
      if (!this.#pings.takeWithoutDebt(frame.count, performance.now())) this.#refuse('budget');
      return;
    }
    if (frame.kind === 'imei') return this.#whilePaused(() => this.#greet(frame.imei));
    if (!isKnownCodec(frame.data[0])) return this.#refuse('codec', frame.data[0]);
    // A device sends a file only on request, and the gateway sends no such request.
    if (isCameraFile(frame.data)) return this.#endpoint.metrics.refused.inc({ listener: 'teltonika', reason: 'file' });
    const messages = readMessages(frame.data);
    if (messages?.every((message) => this.#isAnswer(message))) return;
    if (messages) this.#endpoint.metrics.messages.inc(messages.length);
    return this.#whilePaused(() => this.#store(frame.data));
  }

  /** Tells whether a message answers the command in flight. */
  #isAnswer({ bytes, isAnswer, isRefused }: DeviceMessage): boolean {
    const isTaken = isAnswer && this.#takesAnswer(bytes.toString('latin1').trimEnd(), isRefused);
    if (isTaken) this.#hasCommandInFlight = false;
    return isTaken;
  }

  /** Charges a frame to the budgets of device and address, and pauses reading while either is exceeded. */
  async #pay(bytes: number): Promise<void> {
    const nowMs = performance.now();
    const budgets = this.#throttle ? [this.#address, this.#throttle] : [this.#address];
    for (const budget of budgets) {
      budget.takeUpload(nowMs);
      budget.takeBytes(bytes, nowMs);
    }
    const waitMs = Math.max(...budgets.map((budget) => budget.waitMs(nowMs)));
    if (waitMs === 0 || this.#socket.destroyed || this.#isRefused) return;
    this.#endpoint.metrics.throttled.inc();
    const { remoteAddress: address } = this.#socket;
    this.#endpoint.logger.warn({ deviceId: this.#deviceId, address }, 'device throttled');
    await this.#whilePaused(() => delay(waitMs, undefined, { ref: false }));
  }

  async #whilePaused(work: () => Promise<void>): Promise<void> {
    this.#socket.pause();
    await work();
    this.#socket.resume();
  }

  /** Answers a hello. Repeating it on the same connection has no effect. */
  async #greet(imei: string): Promise<void> {
    if (this.#deviceId === '') return this.#signIn(imei);
    // The records of another device must not be stored as this one's; it keeps them and reconnects.
    if (this.#deviceId !== imei) return this.#refuse('hello', 'another IMEI');
    this.#socket.write(answerHello(true));
  }

  async #signIn(imei: string): Promise<void> {
    const { devices, sessions, throttles, limits } = this.#endpoint;
    signIns += 1;
    this.#signInNumber = signIns;
    const device = await findTeltonikaDevice(devices, imei).catch((error: unknown) => ({ error }));
    if (this.#socket.destroyed) return;
    // Without an answer, the device retries.
    if (device && 'error' in device) return this.#refuse('unavailable', device.error, imei);
    if (!device) {
      this.#socket.write(answerHello(false));
      return this.#refuse('unknown_device', undefined, imei);
    }
    // The device has reconnected; lookups may complete out of order.
    const other = sessions.find(imei);
    if (other && other.signInNumber > this.#signInNumber) return this.close();
    this.#deviceId = imei;
    this.#family = device.family;
    this.#throttle = throttles.acquire(imei, device.rates, this.#socket);
    limits.authenticated(this.#socket);
    // In Redis before the answer, so that a command sent right after it finds the device here.
    await sessions.add(this);
    if (!this.#socket.destroyed) this.#socket.write(answerHello(true));
  }

  async #store(data: Buffer): Promise<void> {
    const throttle = this.#throttle;
    if (!throttle) return;
    const device = { deviceId: this.#deviceId, family: this.#family };
    const stored = storeRecords(this.#endpoint.uploads, device, throttle, data);
    if (!stored) return this.#refuse('held_bytes');
    const records = await stored;
    // Messages are not acknowledged: the device would take it for the acknowledgement of records.
    if (isAvlCodec(data[0])) this.#socket.write(acknowledgeRecords(records));
  }

  /** Logs the reason and closes the connection. */
  #refuse(reason: Refusal, fault?: unknown, imei = this.#deviceId): void {
    const { metrics, logger } = this.#endpoint;
    this.#isRefused = true;
    metrics.refused.inc({ listener: 'teltonika', reason });
    const device = imei === '' ? {} : { deviceId: imei };
    const detail = fault === undefined ? {} : fault instanceof Error ? { err: fault } : { fault };
    logger.warn(
      { ...device, address: this.#socket.remoteAddress, ...detail },
      `connection closed: ${refusals[reason]}`,
    );
    this.#closeSoon();
  }
}
