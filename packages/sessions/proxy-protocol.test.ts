import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { type ProxiedSource, readProxiedSource, readProxyHead, takeProxyHeader } from './proxy-protocol.ts';

/** Returns the bytes of a header, laid out as in section 2.2 of the specification. */
const header = (command: number, family: number, body: readonly number[]) =>
  Buffer.from([
    ...[0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a],
    ...[command, family, body.length >> 8, body.length & 0xff, ...body],
  ]);
const tcp4 = [192, 0, 2, 7, 198, 51, 100, 1, 0xc3, 0x50, 0x07, 0x5b];
const tcp6 = [
  0x20,
  0x01,
  0x0d,
  0xb8,
  ...Array.from({ length: 11 }, () => 0),
  9,
  ...Array.from({ length: 16 }, () => 0),
  0,
  80,
  0,
  0,
];

const sourceOf = (bytes: Buffer): ProxiedSource | undefined => {
  const length = readProxyHead(bytes.subarray(0, 16));
  return readProxiedSource(bytes.subarray(0, 16), bytes.subarray(16, 16 + length));
};

describe('a PROXY protocol header of version 2', () => {
  it('holds the source of a TCP connection over IPv4 and IPv6, with extensions after it', () => {
    expect(sourceOf(header(0x21, 0x11, tcp4))).toEqual({ address: '192.0.2.7', port: 50_000 });
    expect(sourceOf(header(0x21, 0x11, [...tcp4, 4, 0, 1, 0]))).toEqual({ address: '192.0.2.7', port: 50_000 });
    expect(sourceOf(header(0x21, 0x21, tcp6))).toEqual({ address: '2001:db8::9', port: 80 });
  });

  it('holds no source for health checks of the balancer and for other protocols', () => {
    expect(sourceOf(header(0x20, 0x00, []))).toBeUndefined();
    expect(sourceOf(header(0x21, 0x00, [1, 2, 3]))).toBeUndefined();
    expect(sourceOf(header(0x21, 0x31, [1, 2, 3]))).toBeUndefined();
  });

  it('is refused when it is of another version, incomplete or too long', () => {
    expect(() => sourceOf(Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 50000 1883\r\n'))).toThrow(
      'no PROXY protocol',
    );
    expect(() => sourceOf(header(0x11, 0x11, tcp4))).toThrow('no PROXY protocol');
    expect(() => sourceOf(header(0x2f, 0x11, tcp4))).toThrow('no PROXY protocol');
    expect(() => sourceOf(header(0x21, 0x11, tcp4.slice(1)))).toThrow('incomplete');
    expect(() =>
      sourceOf(
        header(
          0x21,
          0x11,
          Array.from({ length: 4097 }, () => 0),
        ),
      ),
    ).toThrow('4097 bytes');
  });
});

describe('a connection of a balancer', () => {
  const server = createServer().listen(0, '127.0.0.1');
  afterAll(() => void server.close());

  /** Connects and sends bytes one chunk at a time. @returns what the server found */
  async function accept(...chunks: Buffer[]) {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    client.setNoDelay(true);
    const [socket] = (await once(server, 'connection')) as [Socket];
    const outcome = new Promise<ProxiedSource | Error | undefined>((resolve) =>
      takeProxyHeader(socket, resolve, resolve),
    );
    for (const chunk of chunks) await new Promise((resolve) => client.write(chunk, resolve));
    return { client, socket, result: await outcome };
  }

  it('reports the source as its remote end, and keeps the bytes after the header, in any chunks', async () => {
    const bytes = Buffer.concat([header(0x21, 0x11, tcp4), Buffer.from('hello')]);
    for (const cut of [0, 1, 16, 20, 28, 30]) {
      const { client, socket } = await accept(
        ...[bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length),
      );
      expect([socket.remoteAddress, socket.remotePort]).toEqual(['192.0.2.7', 50_000]);
      let text = '';
      socket.on('data', (chunk) => (text += chunk));
      client.end();
      await once(socket, 'end');
      expect(text).toBe('hello');
    }
  });

  it('is closed when it does not begin with a header', async () => {
    const { socket, result } = await accept(Buffer.from('\x10 an MQTT CONNECT, for example'));
    expect(result).toBeInstanceOf(Error);
    expect(socket.destroyed).toBe(true);
  });
});
