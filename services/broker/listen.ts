import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { ResolvedConfig } from '@odograph/runtime/config';

/** Connections that wait to be accepted while a fleet reconnects. */
const acceptQueue = 4096;
const keepAliveDelayMs = 60_000;

export interface Listeners {
  readonly listening: boolean;
  /** Accepts nobody any more; open connections stay. */
  stop(): void;
}

/**
 * Listens for MQTT on MQTT_PORT, and on MQTTS_PORT over TLS when there is a certificate.
 * @throws when a port cannot be listened on, or the certificate cannot be read
 */
export async function listen(config: ResolvedConfig, onConnection: (socket: Socket) => void): Promise<Listeners> {
  const accept = (socket: Socket): void => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveDelayMs);
    onConnection(socket);
  };
  const servers = [await open(createServer(accept), config.MQTT_HOST, config.MQTT_PORT)];
  try {
    const tls = await createSecureServer(config, accept);
    if (tls) servers.push(await open(tls, config.MQTT_HOST, config.MQTTS_PORT));
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  return {
    get listening() {
      return servers.every((server) => server.listening);
    },
    stop() {
      for (const server of servers) server.close();
    },
  };
}

async function createSecureServer(
  { MQTT_TLS_CERTIFICATE, MQTT_TLS_KEY }: ResolvedConfig,
  accept: (socket: Socket) => void,
): Promise<Server | undefined> {
  if (MQTT_TLS_CERTIFICATE === undefined || MQTT_TLS_KEY === undefined) return undefined;
  const [cert, key] = await Promise.all([readFile(MQTT_TLS_CERTIFICATE), readFile(MQTT_TLS_KEY)]);
  const server = createTlsServer({ cert, key, minVersion: 'TLSv1.2', handshakeTimeout: 10_000 }, accept);
  // A handshake that fails concerns its client only.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

async function open(server: Server, host: string, port: number): Promise<Server> {
  server.listen({ host, port, backlog: acceptQueue });
  await once(server, 'listening');
  return server;
}
