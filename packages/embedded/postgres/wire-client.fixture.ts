import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { forEachMessage, wireMessage } from './wire-framing.ts';

/** A client that sends single protocol messages, also those that no driver sends. */
export interface WireClient {
  socket: Socket;
  send(...messages: Buffer[]): void;
  /** Reads messages up to and including the first ReadyForQuery (or `until`). @throws when the server closes the connection */
  receive(until?: string): Promise<{ type: string; body: string }[]>;
}

const text = (...values: string[]): Buffer => Buffer.from(values.map((value) => `${value}\0`).join(''));
const number = (bytes: Buffer, at: number): number => bytes.readInt32BE(at);

export const parse = (name: string, sql: string): Buffer => wireMessage('P', text(name, sql), Buffer.alloc(2));
export const bind = (portal: string, statement: string): Buffer =>
  wireMessage('B', text(portal, statement), Buffer.alloc(6));
export const execute = (portal: string): Buffer => wireMessage('E', text(portal), Buffer.alloc(4));
export const flush = (): Buffer => wireMessage('H');

/** Connects and logs in with further startup parameters. */
export async function connectWire(url: string, parameters: Record<string, string> = {}): Promise<WireClient> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
  await once(socket, 'connect');
  let unread = Buffer.alloc(0);
  let wake: () => void = () => undefined;
  let ended = false;
  socket.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    ended = true;
    wake();
  });
  function next(): { type: string; body: string } | undefined {
    if (unread.length < 5 || unread.length < number(unread, 1) + 1) return undefined;
    const whole = unread.subarray(0, number(unread, 1) + 1);
    unread = unread.subarray(whole.length);
    let found = { type: '', body: '' };
    forEachMessage(whole, (type, start, end) => {
      found = { type, body: whole.toString('utf8', start + 5, end) };
    });
    return found;
  }
  async function receive(until = 'Z'): Promise<{ type: string; body: string }[]> {
    const received: { type: string; body: string }[] = [];
    for (;;) {
      const message = next();
      if (message !== undefined) received.push(message);
      if (message?.type === until) return received;
      if (message === undefined && ended) {
        throw new Error(`the server closed the connection: ${received.map(({ body }) => body).join(' ')}`);
      }
      if (message === undefined) await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  const send = (...messages: Buffer[]): void => void socket.write(Buffer.concat(messages));
  const all = { user: 'postgres', database: 'postgres', ...parameters };
  const body = Buffer.concat([text(...Object.entries(all).flat()), Buffer.from([0])]);
  const header = Buffer.alloc(8);
  header.writeInt32BE(body.length + 8, 0);
  header.writeInt32BE(0x30000, 4);
  send(header, body);
  await receive('R');
  send(wireMessage('p', text(new URL(url).password)));
  await receive();
  return { socket, send, receive };
}
