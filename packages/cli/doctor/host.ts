import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, statfs } from 'node:fs/promises';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import type { Config } from '@odograph/runtime/config';
import { type Check, checkCertificate, checkExpiry, checkPrivateKey, fault, ok, unknown, warning } from './check.ts';

const minFreeBytes = 1024 ** 3;
const minFreeShare = 0.1;
const answerMs = 5000;

/** Checks the space on the disk of a directory; one that this host does not have is not checked. */
export async function checkDisk(check: string, directory: string): Promise<Check[]> {
  const space = await statfs(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
    throw error;
  });
  if (space === undefined) {
    return [unknown(check, `${directory} cannot be seen from this host`, 'run doctor on the host that has it')];
  }
  const { bavail, blocks, bsize } = space;
  const free = bavail * bsize;
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free (${Math.round((100 * bavail) / blocks)} %) in ${directory}`;
  const isLow = free < minFreeBytes || bavail / blocks < minFreeShare;
  return [isLow ? warning(check, detail, 'free or add space, or set RETENTION_DAYS') : ok(check, detail)];
}

/** Asks systemd whether the clock of this host is synchronized. */
export async function checkTimeSync(): Promise<Check[]> {
  const check = 'clock of this host';
  const command = ['show', '--property=NTPSynchronized', '--value'];
  const answer = await promisify(execFile)('timedatectl', command, { timeout: answerMs }).catch(() => undefined);
  if (answer === undefined) {
    return [unknown(check, 'timedatectl does not answer', 'see that chrony or another NTP client runs on this host')];
  }
  return answer.stdout.trim() === 'yes'
    ? [ok(check, 'synchronized')]
    : [fault(check, 'not synchronized', 'start an NTP client, such as systemd-timesyncd or chrony')];
}

/** Checks the certificates that the settings name, and the one that the server at ODOGRAPH_URL shows. */
export async function checkCertificates(config: Config): Promise<Check[]> {
  const checks: Check[] = [];
  for (const name of ['MQTT_TLS_CERTIFICATE', 'MQTT_TLS_CLIENT_CA'] as const) {
    const path = config[name];
    if (path !== undefined) checks.push(checkCertificate(name, await readFile(path, 'utf8'), Date.now()));
  }
  const { MQTT_TLS_CERTIFICATE: certificate, MQTT_TLS_KEY: key } = config;
  if (certificate !== undefined && key !== undefined) {
    const [certificatePem, keyPem] = await Promise.all([readFile(certificate, 'utf8'), readFile(key, 'utf8')]);
    checks.push(checkPrivateKey('MQTT_TLS_KEY', certificatePem, keyPem));
  }
  if (config.ODOGRAPH_URL?.startsWith('https:')) checks.push(await checkServerCertificate(config.ODOGRAPH_URL));
  return checks;
}

async function checkServerCertificate(url: string): Promise<Check> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  // The check reports any fault of the certificate, so no certificate is rejected here.
  const socket = connect({ host, port: Number(port || 443), servername: host, rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(answerMs) });
    const check = `certificate of ${hostname}`;
    if (!socket.authorized) {
      return fault(
        check,
        `not trusted: ${socket.authorizationError}`,
        'serve a certificate of that name with its chain',
      );
    }
    return checkExpiry(check, socket.getPeerCertificate().valid_to, Date.now(), 'renew it in the proxy');
  } finally {
    socket.destroy();
  }
}

/** Checks that the platform is healthy. */
export async function checkPlatform(url: string): Promise<Check[]> {
  const response = await fetch(`${url}/health`);
  const body = await response.text();
  return [
    response.ok
      ? ok('platform', `healthy at ${url}`)
      : fault('platform', body, 'see the log of the service that is not ok'),
  ];
}
