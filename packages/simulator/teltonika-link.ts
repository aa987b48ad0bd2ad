import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { encodeAnswer, readCommand } from '@odograph/codec/teltonika/commands';
import { encodeDatagram, encodeHello } from '@odograph/codec/teltonika/encode';
import { readPacket, wrapPacket } from '@odograph/codec/teltonika/packets';

/** The device's end of a connection to the platform. */
export interface TeltonikaLink {
  readonly isOpen: boolean;
  /** Resolves when it is closed. */
  readonly closed: Promise<void>;
  /** @throws when the platform closes the connection or does not answer */
  sayHello(imei: string): Promise<boolean>;
  /**
   * Sends data fields and waits for their acknowledgements.
   * @returns the acknowledged number of records of each
   * @throws when one does not come
   */
  exchange(fields: readonly Buffer[]): Promise<number[]>;
  write(bytes: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Numbers that the platform answers, for those who wait for them in the order of their questions. */
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
    const timer = setTimeout(() => this.end(new Error('no answer of the platform')), this.#timeoutMs);
    try {
      return await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Fails everything that waits and whatever asks later. */
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
export async function openTcpLink(options: TcpOptions): Promise<TeltonikaLink> {
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
export async function openUdpLink({ host, port, imei, timeoutMs }: UdpOptions): Promise<TeltonikaLink> {
  const socket = createSocket('udp4');
  socket.connect(port, host);
  await once(socket, 'connect');
  const waiting = new Map<number, Answers>();
  let packetId = 0;
  let isOpen = true;
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // Nobody listens at the address: the answers do not come.
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
