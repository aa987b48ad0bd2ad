import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls';
import type { ResolvedConfig } from '@odograph/runtime/config';

const lookMs = 2000;

/** What the files of MQTT over TLS say, as createServer and setSecureContext of node:tls take it. */
export type TlsFiles = Pick<SecureContextOptions, 'cert' | 'key' | 'ca' | 'crl' | 'minVersion'>;

/**
 * Reads the certificate, its key, the authorities of the devices and what these have revoked.
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

/**
 * Takes over within seconds what the files say now; open connections stay as they are, and no session of before is
 * resumed. Files that cannot be used, such as a certificate whose key is yet to come, leave everything as it is.
 * @param current what the server was made with
 * @param report called after each change, with the error when it cannot be used
 * @returns what stops it
 */
export function followTlsFiles(
  server: Server,
  config: ResolvedConfig,
  current: TlsFiles,
  report: (error?: unknown) => void,
): () => void {
  let seen = JSON.stringify(current);
  const look = async (): Promise<void> => {
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
  const timer = setInterval(() => void look(), lookMs);
  return () => clearInterval(timer);
}
