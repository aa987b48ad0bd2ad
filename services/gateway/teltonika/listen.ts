import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { createTlsServer, followTlsFiles, readTlsFiles } from '@odograph/runtime/tls-server';
import { TeltonikaConnection, type TeltonikaDoor } from './connection.ts';
import { receiveDatagrams } from './datagrams.ts';

/** Connections that wait to be accepted while a fleet reconnects. */
const acceptQueue = 4096;
const keepAliveDelayMs = 60_000;

export interface TeltonikaListeners {
  readonly isListening: boolean;
  /** Stops accepting connections and datagrams; open connections continue. */
  stop(): void;
  /** Closes the open connections, each after what was written to it. */
  closeConnections(): void;
}

/**
 * Listens for Teltonika devices: TCP and UDP on TELTONIKA_PORT, TLS on TELTONIKA_TLS_PORT. A port of 0 stays closed.
 * @throws when it cannot listen on a port, or a certificate cannot be read
 */
export async function listenForTeltonika(door: TeltonikaDoor, config: ResolvedConfig): Promise<TeltonikaListeners> {
  const { TELTONIKA_HOST: host, TELTONIKA_PORT: port, TELTONIKA_TLS_PORT: tlsPort } = config;
  const { limits, logger } = door;
  const closers: (() => void)[] = [];
  const servers: Server[] = [];
  const connections = new Set<Socket>();
  const accept = (socket: Socket): void => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveDelayMs);
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    new TeltonikaConnection(door, socket);
  };
  const open = async (server: Server, at: number): Promise<void> => {
    // Drops what exceeds the limit before a socket is created for it.
    server.maxConnections = limits.maximum;
    server.listen({ host, port: at, backlog: acceptQueue });
    await once(server, 'listening');
    servers.push(server);
    closers.push(() => server.close());
  };
  try {
    if (port > 0) {
      await open(
        createServer((socket) => {
          if (limits.admit(socket)) accept(socket);
        }),
        port,
      );
      const datagrams = await receiveDatagrams(door, host, port);
      closers.push(() => datagrams.close());
    }
    const files = tlsPort > 0 ? await readTlsFiles(config) : undefined;
    if (files) {
      const server = createTlsServer(files, accept);
      server.on('connection', (socket) => limits.admit(socket));
      await open(server, tlsPort);
      closers.push(
        followTlsFiles(server, config, files, (error) => {
          if (error === undefined) logger.info('new certificates in use');
          else logger.warn({ err: error }, 'new certificates rejected; keeping the current ones');
        }),
      );
    }
  } catch (error) {
    for (const close of closers) close();
    throw error;
  }
  return {
    get isListening() {
      return servers.every((server) => server.listening);
    },
    stop() {
      for (const close of closers) close();
    },
    closeConnections() {
      for (const socket of connections) socket.destroySoon();
    },
  };
}
