import { type Socket, SocketAddress } from 'node:net';

/** The first 12 bytes of a header of version 2. */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const headBytes = 16;
/** Limit for addresses and extensions together; balancers send a few hundred bytes. */
const maxBodyBytes = 4096;
const timeoutMs = 5000;

/** Commands and families of a header (section 2.2). */
const version2 = 0x20;
const local = 0x00;
const proxied = 0x01;
const tcp4 = 0x11;
const tcp6 = 0x21;

/** The client of a connection that a balancer forwards. */
export interface ProxiedSource {
  readonly address: string;
  readonly port: number;
}

/**
 * Reads the fixed part of a PROXY protocol header of version 2.
 * @returns the length of the rest of the header, in bytes
 * @throws when it is not such a header
 */
export function readProxyHead(head: Buffer): number {
  const command = (head[12] ?? 0) - version2;
  if (!head.subarray(0, signature.length).equals(signature) || (command !== local && command !== proxied)) {
    throw new Error('the connection has no PROXY protocol header of version 2');
  }
  const length = head.readUInt16BE(14);
  if (length > maxBodyBytes) throw new Error(`the PROXY protocol header is too long: ${length} bytes`);
  return length;
}

/**
 * Reads the source of a connection from a header of version 2.
 * @returns undefined for a connection of the balancer itself, such as a health check, and for sources that are not TCP
 * @throws when the addresses are incomplete
 */
export function readProxiedSource(head: Buffer, body: Buffer): ProxiedSource | undefined {
  if (head[12] !== version2 + proxied) return undefined;
  if (head[13] === tcp4) return sourceIn(body, 4);
  return head[13] === tcp6 ? sourceIn(body, 16) : undefined;
}

/** Reads the source from a body: source and destination address, then source and destination port. */
function sourceIn(body: Buffer, addressBytes: number): ProxiedSource {
  if (body.length < 2 * addressBytes + 4) throw new Error('the PROXY protocol header has incomplete addresses');
  const bytes = body.subarray(0, addressBytes);
  return { address: addressBytes === 4 ? bytes.join('.') : ipv6(bytes), port: body.readUInt16BE(2 * addressBytes) };
}

function ipv6(bytes: Buffer): string {
  const groups = bytes.toString('hex').match(/.{4}/g) ?? [];
  return new SocketAddress({ family: 'ipv6', address: groups.join(':') }).address;
}

/**
 * Reads the header from a connection of a balancer; the bytes after it stay in the socket.
 * @param onRead called with the source, which the socket reports as its remote end from then on
 * @param onRefused called before a connection without a valid header is destroyed
 */
export function takeProxyHeader(
  socket: Socket,
  onRead: (source: ProxiedSource | undefined) => void,
  onRefused: (error: Error) => void,
): void {
  let head: Buffer | undefined;
  const end = (): void => {
    clearTimeout(timer);
    socket.off('readable', read).off('close', end);
  };
  const refuse = (error: Error): void => {
    end();
    onRefused(error);
    socket.destroy();
  };
  const take = (): void => {
    head ??= socket.read(headBytes) ?? undefined;
    if (head === undefined) return;
    const length = readProxyHead(head);
    const body: Buffer | null = length === 0 ? Buffer.alloc(0) : socket.read(length);
    if (body === null) return;
    const source = readProxiedSource(head, body);
    end();
    if (source) showSource(socket, source);
    // Waits a tick: until then, the stream would not report buffered bytes to a new listener.
    process.nextTick(() => {
      socket.off('error', ignore);
      if (!socket.destroyed) onRead(source);
    });
  };
  const read = (): void => {
    try {
      take();
    } catch (error) {
      refuse(error as Error);
    }
  };
  const ignore = (): void => undefined;
  const timer = setTimeout(() => refuse(new Error('the PROXY protocol header timed out')), timeoutMs);
  socket.on('readable', read).on('close', end).on('error', ignore);
}

/** Makes a socket report the source as its remote end. */
export function showSource(socket: Socket, { address, port }: ProxiedSource): void {
  Object.defineProperties(socket, { remoteAddress: { value: address }, remotePort: { value: port } });
}
