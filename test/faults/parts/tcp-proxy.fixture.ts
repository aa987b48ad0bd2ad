import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Transform } from 'node:stream';

/** Bytes on their way from a client to the server; made anew for each connection. */
export type ClientFilter = () => Transform;

/** A line between two parts that can be cut, slowed down, or go silent without a word. */
export interface TcpProxy {
  readonly port: number;
  /** The ports that its connections have on the far side. */
  localPorts(): number[];
  /** Ends every connection and refuses new ones. */
  cut(): void;
  /** Passes on what comes `ms` later, both ways. */
  slow(ms: number): void;
  /** Keeps every connection open, and passes on nothing of either side any more, ever. */
  silence(): void;
  /** Passes on everything at once on new connections; those that were silenced stay so. */
  mend(): void;
  close(): void;
}

interface Line {
  readonly ends: readonly [Socket, Socket];
  silent: boolean;
}

/**
 * Starts a proxy on a free port of 127.0.0.1.
 * @param target the port of the far side, or what names it for each new connection
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
