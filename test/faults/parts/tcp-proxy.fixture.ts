import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Transform } from 'node:stream';

/** Creates a transform of the bytes from client to server, one for each connection. */
export type ClientFilter = () => Transform;

/** A network connection between two parts that can be cut, slowed down, or go silent. */
export interface TcpProxy {
  readonly port: number;
  /** Local ports of its connections to the server. */
  localPorts(): number[];
  /** Ends every connection and refuses new ones. */
  cut(): void;
  /** Delays bytes in both directions. */
  slow(ms: number): void;
  /** Keeps every connection open and drops all bytes, as after a lost route. */
  silence(): void;
  /** Lets new connections work again; silent ones stay silent. */
  mend(): void;
  close(): void;
}

interface Line {
  readonly ends: readonly [Socket, Socket];
  silent: boolean;
}

/**
 * Starts a proxy on a free port of 127.0.0.1.
 * @param target port of the server, or a function that returns it for each new connection
 */
export async function startTcpProxy(target: number | (() => number), filter?: ClientFilter): Promise<TcpProxy> {
  const lines = new Set<Line>();
  let state: 'whole' | 'cut' | 'silent' = 'whole';
  let delayMs = 0;

  function pass(from: Socket, to: Socket, line: Line, through?: Transform): void {
    const source = through ? from.pipe(through) : from;
    source.on('data', (chunk: Buffer) => {
      if (line.silent) return;
      if (delayMs === 0) to.write(chunk);
      else setTimeout(() => to.write(chunk), delayMs);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      lines.delete(line);
      to.destroy();
    });
  }
  const server = createServer((client) => {
    if (state === 'cut') {
      client.on('error', () => undefined);
      client.destroy();
      return;
    }
    const beyond = connect(typeof target === 'number' ? target : target(), '127.0.0.1');
    for (const end of [client, beyond]) end.setNoDelay(true);
    const line: Line = { ends: [client, beyond], silent: state === 'silent' };
    lines.add(line);
    pass(client, beyond, line, filter?.());
    pass(beyond, client, line);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  function endAll(): void {
    for (const { ends } of lines) for (const end of ends) end.destroy();
  }
  return {
    port: (server.address() as AddressInfo).port,
    localPorts: () => [...lines].map(({ ends }) => ends[1].localPort ?? 0),
    cut() {
      state = 'cut';
      endAll();
    },
    slow(ms) {
      delayMs = ms;
    },
    silence() {
      state = 'silent';
      for (const line of lines) line.silent = true;
    },
    mend() {
      state = 'whole';
      delayMs = 0;
    },
    close() {
      endAll();
      server.close();
    },
  };
}
