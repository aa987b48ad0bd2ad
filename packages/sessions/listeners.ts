import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createSecureServer,
  type SecureContextOptions,
  type Server as SecureServer,
  type TLSSocket,
} from 'node:tls';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { Logger } from '@odograph/runtime/logger';
import { isInNetworks, parseNetworks } from '@odograph/runtime/network-address';
import type { ConnectionLimits } from './connection-limits.ts';
import { type ProxiedSource, showSource, takeProxyHeader } from './proxy-protocol.ts';

/** Maximum number of connections waiting to be accepted, as when a fleet reconnects. */
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
    // Drops connections above the limit before a socket is created.
    server.maxConnections = limits.maximum;
    server.on('drop', (dropped) => limits.dropped(dropped?.remoteAddress));
    server.listen({ host, port: at, backlog: acceptQueue });
    await once(server, 'listening');
  };
  const openTcp = async (at: number): Promise<void> => {
    const accept = (socket: Socket): void => {
      if (limits.admit(socket)) options.onConnection(keepAlive(socket));
    };
    await open(createServer(afterProxyHeader(config, logger, accept)), at);
  };
  const openTls = async (at: number): Promise<() => void> => {
    const files = await readTlsFiles(config);
    if (!files) return () => undefined;
    /** Keyed by the endpoint of the balancer, which a TLS socket over the connection reports. */
    const sources = new Map<string, ProxiedSource>();
    const server = createTlsServer(files, (socket) => {
      const source = sources.get(endpointOf(socket));
      if (source) showSource(socket, source);
      options.onTlsConnection(keepAlive(socket));
    });
    server.on('connection', (socket) => limits.admit(socket));
    const accept = (socket: Socket, source?: ProxiedSource, endpoint = ''): void => {
      if (source) {
        sources.set(endpoint, source);
        socket.once('close', () => sources.delete(endpoint));
      }
      server.emit('connection', socket);
    };
    await open(
      config.PROXY_PROTOCOL_NETWORKS === '' ? server : createServer(afterProxyHeader(config, logger, accept)),
      at,
    );
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

const endpointOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Reads the PROXY protocol header of connections from PROXY_PROTOCOL_NETWORKS before it accepts them. */
function afterProxyHeader(
  { PROXY_PROTOCOL_NETWORKS: setting }: ResolvedConfig,
  logger: Logger,
  accept: (socket: Socket, source?: ProxiedSource, endpoint?: string) => void,
): (socket: Socket) => void {
  const balancers = setting === '' ? [] : (parseNetworks(setting) ?? []);
  if (balancers.length === 0) return (socket) => accept(socket);
  return (socket) => {
    const { remoteAddress: balancer = '' } = socket;
    if (!isInNetworks(balancer, balancers)) return accept(socket);
    const endpoint = endpointOf(socket);
    takeProxyHeader(
      socket,
      (source) => accept(socket, source, endpoint),
      (error) => logger.warn({ balancer, reason: error.message }, 'connection refused: invalid PROXY protocol header'),
    );
  };
}

function keepAlive<Connection extends Socket>(socket: Connection): Connection {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveDelayMs);
  return socket;
}

const handshakeTimeoutMs = 10_000;

/** The contents of the certificate files, as createServer and setSecureContext of node:tls take them. */
export type TlsFiles = Pick<SecureContextOptions, 'cert' | 'key' | 'ca' | 'crl' | 'minVersion'>;

/**
 * Reads the certificate, its key, the certificate authorities of the devices and their revocation list.
 * @returns undefined without MQTT_TLS_CERTIFICATE
 * @throws when a file cannot be read
 */
export async function readTlsFiles(config: ResolvedConfig): Promise<TlsFiles | undefined> {
  const { MQTT_TLS_CERTIFICATE, MQTT_TLS_KEY, MQTT_TLS_CLIENT_CA, MQTT_TLS_CLIENT_CRL } = config;
  if (MQTT_TLS_CERTIFICATE === undefined || MQTT_TLS_KEY === undefined) return undefined;
  return {
    cert: await readFile(MQTT_TLS_CERTIFICATE, 'utf8'),
    key: await readFile(MQTT_TLS_KEY, 'utf8'),
    ...(MQTT_TLS_CLIENT_CA === undefined ? {} : { ca: await readFile(MQTT_TLS_CLIENT_CA, 'utf8') }),
    ...(MQTT_TLS_CLIENT_CRL === undefined ? {} : { crl: await readFile(MQTT_TLS_CLIENT_CRL, 'utf8') }),
    minVersion: 'TLSv1.2',
  };
}

/** Creates a TLS server. Client certificates are optional; without one a client authenticates by password. */
export function createTlsServer(files: TlsFiles, onConnection: (socket: TLSSocket) => void): SecureServer {
  const clients = files.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false };
  const server = createSecureServer({ ...files, ...clients, handshakeTimeout: handshakeTimeoutMs }, onConnection);
  // A failed handshake affects only its client.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

/**
 * Applies changed certificate files to new connections within seconds; open ones stay, and no earlier TLS session is
 * resumed. Files that do not fit, such as a certificate whose key is still missing, change nothing.
 * @param current the files that the server was created with
 * @param report called after each change, with the error when the files were rejected
 * @returns a function that ends it
 */
export function followTlsFiles(
  server: SecureServer,
  config: ResolvedConfig,
  current: TlsFiles,
  report: (error?: unknown) => void,
  pollMs = 2000,
): () => void {
  let seen = JSON.stringify(current);
  const poll = async (): Promise<void> => {
    const files = await readTlsFiles(config).catch((error: unknown) => ({ error }));
    const read = JSON.stringify(files);
    if (files === undefined || read === seen) return;
    seen = read;
    if ('error' in files) return report(files.error);
    try {
      createSecureContext(files);
      server.setSecureContext(files);
      report();
    } catch (error) {
      report(error);
    }
  };
  const timer = setInterval(() => void poll(), pollMs);
  return () => clearInterval(timer);
}
