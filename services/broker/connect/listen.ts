import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import type { ResolvedConfig } from '@odograph/runtime/config';
import { hasBadCertificate } from './client-certificate.ts';
import { followTlsFiles, readTlsFiles, type TlsFiles } from './tls.ts';

/** Connections that wait to be accepted while a fleet reconnects. */
const acceptQueue = 4096;
const keepAliveDelayMs = 60_000;

export interface Listeners {
  readonly listening: boolean;
  /** Accepts nobody any more; open connections stay. */
  stop(): void;
}

export interface ListenOptions {
  onConnection(socket: Socket): void;
  /** A connection that was closed before it could say anything: one too many, or with a certificate nobody vouches for. */
  onRefused(reason: 'connections' | 'certificate', address: string | undefined): void;
  /** The files of the certificates have changed: new connections get what they say, or, with an error, what they said. */
  onCertificates(error?: unknown): void;
}

/**
 * Listens for MQTT on MQTT_PORT, and on MQTTS_PORT over TLS when there is a certificate; each takes at most
 * MQTT_MAX_CONNECTIONS. With MQTT_TLS_CLIENT_CA a client may present a certificate of its own. Files of certificates that
 * change are taken over.
 * @throws when a port cannot be listened on, or a certificate cannot be read
 */
export async function listen(config: ResolvedConfig, options: ListenOptions): Promise<Listeners> {
  const accept = (socket: Socket): void => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveDelayMs);
    options.onConnection(socket);
  };
  const acceptSecure = (socket: TLSSocket): void => {
    if (hasBadCertificate(socket)) {
      options.onRefused('certificate', socket.remoteAddress);
      socket.destroy();
    } else accept(socket);
  };
  const open = async (server: Server, port: number): Promise<Server> => {
    server.maxConnections = config.MQTT_MAX_CONNECTIONS;
    server.on('drop', (dropped) => options.onRefused('connections', dropped?.remoteAddress));
    server.listen({ host: config.MQTT_HOST, port, backlog: acceptQueue });
    await once(server, 'listening');
    return server;
  };
  const servers = [await open(createServer(accept), config.MQTT_PORT)];
  let stopFollowing = (): void => undefined;
  try {
    const files = await readTlsFiles(config);
    if (files) {
      const tls = createSecureServer(files, acceptSecure);
      servers.push(await open(tls, config.MQTTS_PORT));
      stopFollowing = followTlsFiles(tls, config, files, options.onCertificates);
    }
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  return {
    get listening() {
      return servers.every((server) => server.listening);
    },
    stop() {
      stopFollowing();
      for (const server of servers) server.close();
    },
  };
}

function createSecureServer(files: TlsFiles, accept: (socket: TLSSocket) => void): TlsServer {
  // Who has no certificate comes with a secret, so it is not the handshake that refuses.
  const clients = files.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false };
  const server = createTlsServer({ ...files, ...clients, handshakeTimeout: 10_000 }, accept);
  // A handshake that fails concerns its client only.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}
