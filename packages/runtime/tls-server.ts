import { readFile } from 'node:fs/promises';
import { createSecureContext, createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { ResolvedConfig } from './config.ts';

const pollMs = 2000;
const handshakeTimeoutMs = 10_000;

/** The contents of the certificate files, as createServer and setSecureContext of node:tls take them. */
export type TlsFiles = Pick<SecureContextOptions, 'cert' | 'key' | 'ca' | 'crl' | 'minVersion'>;

/**
 * Reads the certificate, its key, the certification authorities of the devices and their revocation list.
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

/** Creates a TLS server. Client certificates are optional; without one a client signs in in another way. */
export function createTlsServer(files: TlsFiles, onConnection: (socket: TLSSocket) => void): Server {
  const clients = files.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false };
  const server = createServer({ ...files, ...clients, handshakeTimeout: handshakeTimeoutMs }, onConnection);
  // A failed handshake concerns its client only.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return server;
}

/**
 * Applies changed certificate files to new connections within seconds; open ones stay, and no earlier TLS session is
 * resumed. Files that do not fit, such as a certificate whose key is still missing, change nothing.
 * @param current the files that the server was created with
 * @param report called after each change, with the error when the files were rejected
 * @returns ends it
 */
export function followTlsFiles(
  server: Server,
  config: ResolvedConfig,
  current: TlsFiles,
  report: (error?: unknown) => void,
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
