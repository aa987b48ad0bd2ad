import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ResolvedConfig } from './config.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import type { Logger } from './logger.ts';
import { createTlsServer, followTlsFiles, readTlsFiles } from './tls-server.ts';

/** Connections that wait to be accepted while a fleet reconnects. */
const acceptQueue = 4096;
const keepAliveDelayMs = 60_000;

export interface DeviceListeners {
  readonly isListening: boolean;
  /** Stops accepting connections; open ones continue. */
  stop(): void;
}

export interface DeviceListenersOptions {
  readonly host: string;
  /** For TCP without TLS; undefined: none. */
  readonly port: number | undefined;
  /** For TLS, which needs MQTT_TLS_CERTIFICATE as well; undefined: none. */
  readonly tlsPort: number | undefined;
  readonly config: ResolvedConfig;
  /** Of all connections together. */
  readonly limits: ConnectionLimits;
  readonly logger: Logger;
  onConnection(socket: Socket): void;
  /** Called after the handshake. */
  onTlsConnection(socket: TLSSocket): void;
}

/**
 * Listens for connections of devices, and uses changed certificate files for new ones.
 * @throws when it cannot listen on a port, or a certificate cannot be read
 */
export async function listenForDevices(options: DeviceListenersOptions): Promise<DeviceListeners> {
  const { host, port, tlsPort, config, limits, logger } = options;
  const servers: Server[] = [];
  const open = async (server: Server, at: number): Promise<void> => {
    servers.push(server);
    // Drops what exceeds the limit before a socket is created for it.
    server.maxConnections = limits.maximum;
    server.on('drop', (dropped) => limits.dropped(dropped?.remoteAddress));
    server.listen({ host, port: at, backlog: acceptQueue });
    await once(server, 'listening');
  };
  const openTcp = async (at: number): Promise<void> => {
    const accept = (socket: Socket): void => {
      if (limits.admit(socket)) options.onConnection(keepAlive(socket));
    };
    await open(createServer(accept), at);
  };
  const openTls = async (at: number): Promise<() => void> => {
    const files = await readTlsFiles(config);
    if (!files) return () => undefined;
    const server = createTlsServer(files, (socket) => options.onTlsConnection(keepAlive(socket)));
    server.on('connection', (socket) => limits.admit(socket));
    await open(server, at);
    return followTlsFiles(server, config, files, (error) => {
      if (error === undefined) logger.info('new certificates in use');
      else logger.warn({ err: error }, 'new certificates rejected; keeping the current ones');
    });
  };
  let stopFollowing = (): void => undefined;
  try {
    if (port !== undefined) await openTcp(port);
    if (tlsPort !== undefined) stopFollowing = await openTls(tlsPort);
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  return {
    get isListening() {
      return servers.every((server) => server.listening);
    },
    stop() {
      stopFollowing();
      for (const server of servers) server.close();
    },
  };
}

function keepAlive<Connection extends Socket>(socket: Connection): Connection {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveDelayMs);
  return socket;
}
