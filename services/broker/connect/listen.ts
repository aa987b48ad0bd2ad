import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ResolvedConfig } from '@odograph/runtime/config';
import type { ConnectionLimits } from '@odograph/runtime/connection-limits';
import { createTlsServer, followTlsFiles, readTlsFiles } from '@odograph/runtime/tls-server';
import { hasBadCertificate } from './client-certificate.ts';

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
