import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { networkOf } from '@odograph/runtime/network-address';
import { createTlsServer, followTlsFiles, hasBadCertificate, readTlsFiles } from './tls.ts';

export interface ConnectionLimitOptions {
  /** Connections of all listeners together. */
  readonly maximum: number;
  readonly maximumUnauthenticated: number;
  /** Of one IPv4 address or IPv6 /64. */
  readonly maximumUnauthenticatedPerNetwork: number;
  /** Called for each connection that is closed here. */
  onRefused(reason: 'connections' | 'unauthenticated', address: string | undefined): void;
}

interface Unauthenticated {
  readonly socket: Socket;
  readonly network: string;
}

/**
 * Limits open connections, and more tightly those without an accepted CONNECT. When there are too many of these, the
 * oldest is closed for a new one: an honest client sends its CONNECT at once, and one that stays silent is the first to go.
 */
export class ConnectionLimits {
  readonly #options: ConnectionLimitOptions;
  /** By endpoint, the oldest first. */
  readonly #unauthenticated = new Map<string, Unauthenticated>();
  readonly #perNetwork = new Map<string, number>();
  #open = 0;

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
  }

  get maximum(): number {
    return this.#options.maximum;
  }

  get open(): number {
    return this.#open;
  }

  get unauthenticated(): number {
    return this.#unauthenticated.size;
  }

  /** Counts a new TCP connection until it closes, or closes it at once. @returns whether it stays */
  admit(socket: Socket): boolean {
    const { maximum, maximumUnauthenticated, maximumUnauthenticatedPerNetwork } = this.#options;
    const endpoint = endpointOf(socket);
    const network = networkOf(socket.remoteAddress ?? '');
    if (this.#open >= maximum) return this.#refuse('connections', socket);
    const ofNetwork = this.#perNetwork.get(network) ?? 0;
    if (ofNetwork >= maximumUnauthenticatedPerNetwork) return this.#refuse('unauthenticated', socket);
    if (this.#unauthenticated.size >= maximumUnauthenticated) this.#closeOldest();
    this.#open += 1;
    this.#unauthenticated.set(endpoint, { socket, network });
    this.#perNetwork.set(network, (this.#perNetwork.get(network) ?? 0) + 1);
    socket.once('close', () => {
      this.#open -= 1;
      if (this.#unauthenticated.get(endpoint)?.socket === socket) this.#forget(endpoint);
    });
    return true;
  }

  /** Notes that the client at the other end has authenticated. @param socket the connection, or TLS over it */
  authenticated(socket: Socket): void {
    this.#forget(endpointOf(socket));
  }

  #refuse(reason: 'connections' | 'unauthenticated', socket: Socket): boolean {
    this.#options.onRefused(reason, socket.remoteAddress);
    socket.destroy();
    return false;
  }

  #closeOldest(): void {
    const [oldest] = this.#unauthenticated;
    if (oldest === undefined) return;
    const [endpoint, { socket }] = oldest;
    this.#forget(endpoint);
    this.#refuse('unauthenticated', socket);
  }

  #forget(endpoint: string): void {
    const entry = this.#unauthenticated.get(endpoint);
    if (entry === undefined) return;
    this.#unauthenticated.delete(endpoint);
    const left = (this.#perNetwork.get(entry.network) ?? 1) - 1;
    if (left === 0) this.#perNetwork.delete(entry.network);
    else this.#perNetwork.set(entry.network, left);
  }
}

/** The same for a TCP connection and for TLS over it. */
function endpointOf({ remoteAddress, remotePort, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localPort}`;
}

/** Connections that wait to be accepted while a fleet reconnects. */
const acceptQueue = 4096;
const keepAliveDelayMs = 60_000;

export interface Listeners {
  readonly isListening: boolean;
  /** Stops accepting connections; open ones continue. */
  stop(): void;
}

export interface ListenOptions {
  onConnection(socket: Socket): void;
  /** A connection was closed because too many are open, or its certificate is bad. */
  onRefused(reason: 'connections' | 'unauthenticated' | 'certificate', address: string | undefined): void;
  /** Certificate files changed: new connections use them, or, with an error, still the ones before. */
  onCertificates(error?: unknown): void;
}

/**
 * Listens for MQTT on MQTT_PORT, and with a certificate for MQTT over TLS on MQTTS_PORT, within `limits`. With
 * MQTT_TLS_CLIENT_CA a client may present a certificate.
 * @throws when it cannot listen on a port, or a certificate cannot be read
 */
export async function listen(
  config: ResolvedConfig,
  limits: ConnectionLimits,
  options: ListenOptions,
): Promise<Listeners> {
  const accept = (socket: Socket): void => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveDelayMs);
    options.onConnection(socket);
  };
  const acceptTls = (socket: TLSSocket): void => {
    if (hasBadCertificate(socket)) {
      options.onRefused('certificate', socket.remoteAddress);
      socket.destroy();
    } else accept(socket);
  };
  const open = async (server: Server, port: number): Promise<Server> => {
    // Drops what exceeds the limit before a socket is created for it.
    server.maxConnections = limits.maximum;
    server.on('drop', (dropped) => options.onRefused('connections', dropped?.remoteAddress));
    server.listen({ host: config.MQTT_HOST, port, backlog: acceptQueue });
    await once(server, 'listening');
    return server;
  };
  const acceptPlain = (socket: Socket): void => {
    if (limits.admit(socket)) accept(socket);
  };
  const servers = [await open(createServer(acceptPlain), config.MQTT_PORT)];
  let stopFollowing = (): void => undefined;
  try {
    const files = await readTlsFiles(config);
    if (files) {
      const tls = createTlsServer(files, acceptTls);
      tls.on('connection', (socket) => limits.admit(socket));
      servers.push(await open(tls, config.MQTTS_PORT));
      stopFollowing = followTlsFiles(tls, config, files, options.onCertificates);
    }
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
